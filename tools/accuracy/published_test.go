package main

import (
	"bytes"
	"os"
	"testing"
)

// TestPublishedIsCurrent: the best published utilisation that a plan is compared with is that of the rows at hand.
func TestPublishedIsCurrent(t *testing.T) {
	results, err := predicted()
	if err != nil {
		t.Fatal(err)
	}
	var now bytes.Buffer
	if err := writePublished(&now, results); err != nil {
		t.Fatal(err)
	}
	const path = "../../compiler/estimate/data/published.json"
	embedded, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(now.Bytes(), embedded) {
		t.Errorf("%s is not what go run ./tools/accuracy -published prints", path)
	}
}
