package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDigits: a number with a fraction has at most nine significant digits in
// every plan.json of the examples, so that processors which differ in the last
// of sixteen write the same bytes (integration/processors asks them).
func TestDigits(t *testing.T) {
	paths, err := filepath.Glob("../../examples/*/out/*/*/plan.json")
	if err != nil || len(paths) == 0 {
		t.Fatal("no plans: ", err)
	}
	fractions := 0
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if n, ok := token.(json.Number); ok && strings.ContainsAny(n.String(), ".e") {
				fractions++
				if significant(n.String()) > 9 {
					t.Errorf("%s: %s has more than nine digits", path, n)
				}
			}
		}
	}
	if fractions == 0 {
		t.Error("no plan has a number with a fraction")
	}
}

// significant counts the digits of a number without leading and trailing zeros.
func significant(number string) int {
	mantissa, _, _ := strings.Cut(strings.TrimPrefix(number, "-"), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	return len(strings.TrimLeft(whole+strings.TrimRight(fraction, "0"), "0"))
}
