package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ndc-dev/ndc/compiler/collective"
	"github.com/ndc-dev/ndc/compiler/compute/surface"
)

// TestFitGrid recovers a bent surface from noisy samples with one in twenty
// far off.
func TestFitGrid(t *testing.T) {
	axes := [][]float64{{0, 1, 2, 3}, {0, 2, 4}}
	truth := func(x, y float64) float64 { return 0.3*x - 0.1*math.Abs(y-2) }
	random := rand.New(rand.NewPCG(7, 7))
	var samples []sample
	for i := range 600 {
		x, y := 3*random.Float64(), 4*random.Float64()
		noise := 0.02 * random.NormFloat64()
		if i%20 == 0 {
			noise = 1.5
		}
		samples = append(samples, sample{seconds: 2 * math.Exp(truth(x, y)+noise), roof: 2, at: surface.Point{x, y}})
	}
	values := fitGrid(axes, samples, smoothnesses[0])
	for i, x := range axes[0] {
		for j, y := range axes[1] {
			if got, want := values[i*3+j], truth(x, y); math.Abs(got-want) > 0.03 {
				t.Errorf("at %v, %v: %.3f, want %.3f", x, y, got, want)
			}
		}
	}
	if e := validate(axes, samples, smoothnesses[0]); e.Count != 600 || e.Median > 0.03 || e.Max < 0.5 {
		t.Errorf("error on left-out samples %+v", e)
	}
}

// TestFitCurve recovers the curve of a collective.
func TestFitCurve(t *testing.T) {
	want := collective.Curve{Latency: 16e-6, Ramp: 70e-6, Half: math.Exp2(23), Bandwidth: 450e9}
	var messages []message
	for v := 512.0; v < 2e9; v *= 2 {
		messages = append(messages, message{v, want.At(v)})
	}
	got := fitCurve(messages)
	for _, v := range []float64{1e3, 1e5, 1e7, 1e9} {
		if math.Abs(got.At(v)/want.At(v)-1) > 0.01 {
			t.Errorf("%v bytes: %v s, want %v", v, got.At(v), want.At(v))
		}
	}
}

// TestReadTable: tables are read packed and plain, and a cell that is no number is an error.
func TestReadTable(t *testing.T) {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	w.Write([]byte("gpu,ms\nx,1.5\n"))
	w.Close()
	folder := fstest.MapFS{"a.csv.gz": {Data: zipped.Bytes()}, "b.csv": {Data: []byte("gpu,ms\ny,z\n")}}
	rows, err := readTable(folder, "a")
	if err != nil || len(rows) != 1 || rows[0].number("ms", &err) != 1.5 {
		t.Errorf("a: %v, %v", rows, err)
	}
	rows, err = readTable(folder, "b")
	if rows[0].number("ms", &err); err == nil || !strings.Contains(err.Error(), "column ms") {
		t.Errorf("b: %v", err)
	}
	if rows, err := readTable(folder, "c"); rows != nil || err != nil {
		t.Errorf("c: %v, %v", rows, err)
	}
}

// TestEndToEnd fits a small folder of a GPU that is not built in, keeps what
// it did not fit, and reads its own output.
func TestEndToEnd(t *testing.T) {
	folder := t.TempDir()
	csv := "gpu,dtype,m,n,k,ms\n"
	for _, m := range []int{512, 1024, 2048, 4096, 8192} {
		for _, n := range []int{1024, 2048, 4096, 8192, 16384} {
			for _, k := range []int{1024, 2048, 4096, 8192} {
				ms := 0.005 + 2*float64(m)*float64(n)*float64(k)/100e12*1000
				csv += strings.Join([]string{"mine", "bfloat16", strconv.Itoa(m), strconv.Itoa(n), strconv.Itoa(k), fmt.Sprint(ms)}, ",") + "\n"
			}
		}
	}
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("gemm.csv", csv)
	write("gpus.jsonl", `{"column":"mine","catalog":"my_gpu","capability":"8.9","tflops":{"bf16":165},"bandwidth_tb_s":1,"sms":128}`)
	write("out/compute/data/surfaces.jsonl", `{"gpu":"other","operation":"gemm","dtype":"bf16","axes":[[1]],"values_1e-3":[5]}`+"\n")
	if err := run(options{kernels: folder, gpus: filepath.Join(folder, "gpus.jsonl"), source: "me", out: filepath.Join(folder, "out")}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "out/compute/data/surfaces.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	r, err := surface.Parse([]byte(lines[0]))
	if err != nil || len(lines) != 2 || r.GPU != "my_gpu" || r.Source != "me" || r.Rows != 100 || r.LeftOut.Median > 0.02 {
		t.Errorf("%d lines, %+v, %v", len(lines), r, err)
	}
}

// TestDocs: the tables of the manual are those of the embedded data.
func TestDocs(t *testing.T) {
	manual, err := os.ReadFile("../../docs/time-kernels.md")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("../../compiler/compute/data/surfaces.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var records []*surface.Record
	for line := range bytes.Lines(data) {
		r, err := surface.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	var table bytes.Buffer
	printTable(&table, records)
	for line := range strings.Lines(table.String()) {
		if !strings.Contains(string(manual), line) {
			t.Errorf("docs/time-kernels.md lacks %q: print it with go run ./tools/fit", line)
		}
	}
}
