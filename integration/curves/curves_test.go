package curves

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/integration/artifacts"
)

// TestSpec: the changes fit the example, and all three backends build it with
// one layout.
func TestSpec(t *testing.T) {
	example, err := os.ReadFile("../../examples/tiny/job.hcl")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := Spec(example, "/data/text")
	if err != nil {
		t.Fatal(err)
	}
	built, diags := artifacts.Build(spec)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if len(built) != len(Frameworks) {
		t.Fatalf("%d builds", len(built))
	}
	for i, b := range built {
		if b.Launch == nil {
			t.Fatal(b.Refused)
		}
		if f := Frameworks[i]; b.Launch.Framework != f.Kind || b.Launch.Version != f.Version {
			t.Errorf("%s %s, want %v", b.Launch.Framework, b.Launch.Version, f)
		}
		if l := b.Launch.Layout; l.MicroBatchSize != 4 || l.MicroBatches != 2 {
			t.Errorf("%s: %d x %d sequences", b.Launch.Framework, l.MicroBatches, l.MicroBatchSize)
		}
	}
}

// TestSpecRefuses: an example that has changed is not silently trained as is.
func TestSpecRefuses(t *testing.T) {
	if _, err := Spec([]byte("job {}"), "x"); err == nil {
		t.Error("no error")
	}
}

// TestCorpus: the same seed draws the same documents, each of ids of the vocabulary up to the one
// that ends it, and the files of an indexed data set are as long as their format says.
func TestCorpus(t *testing.T) {
	documents := Corpus(1, Vocabulary, 10000)
	again := Corpus(1, Vocabulary, 10000)
	total := 0
	for i, d := range documents {
		total += len(d)
		for j, id := range d {
			if id != again[i][j] || int(id) >= Vocabulary || (id == 0) != (j == len(d)-1) {
				t.Fatalf("document %d has id %d at %d", i, id, j)
			}
		}
	}
	if total < 10000 {
		t.Errorf("%d tokens", total)
	}
	prefix := t.TempDir() + "/text"
	if err := WriteIndexed(prefix, documents); err != nil {
		t.Fatal(err)
	}
	bin, _ := os.Stat(prefix + ".bin")
	idx, _ := os.Stat(prefix + ".idx")
	if bin.Size() != int64(2*total) || idx.Size() != int64(9+8+1+16+12*len(documents)+8*(len(documents)+1)) {
		t.Errorf("%d and %d bytes", bin.Size(), idx.Size())
	}
}

// TestDrawings: the table has a row per step with the largest difference of two frameworks, and
// the picture a line per curve.
func TestDrawings(t *testing.T) {
	curves := []Curve{{Frameworks[0], []float64{7.6, 6.5}}, {Frameworks[2], []float64{7.5, 6.75}}}
	if got := Table(curves); !strings.Contains(got, "| 2 | 6.500 | 6.750 | 0.250 |\n") {
		t.Error(got)
	}
	svg := string(Picture(curves, 7.62))
	if strings.Contains(svg, "%!") {
		t.Error(svg)
	}
	picture := xml.NewDecoder(strings.NewReader(svg))
	lines := 0
	for {
		token, err := picture.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "polyline" {
			lines++
		}
	}
	if lines != 2 {
		t.Errorf("%d lines", lines)
	}
}
