// Command fit turns measured kernels into the compact surfaces that package
// compute embeds: per GPU, data type and operation a smooth correction over a
// roof, with its source, its number of measurements and its error on shapes
// left out of the fit.
//
//	go run ./tools/fit -kernels FOLDER [-gpus FILE] [-source TEXT] [-training FILES] [-out compiler]
//
// FOLDER holds gemm.csv, attention.csv, mla.csv and nccl.csv, each
// plain or with .gz, in the columns of docs/time-kernels.md; a file that is missing is
// skipped and its surfaces in -out are kept. The table of errors goes to
// standard output.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/ndc-dev/ndc/compiler/compute/surface"
)

const defaultSource = "ai-dynamo/aiconfigurator 095f58a (2026-08-21, Apache-2.0), aic-core/src/aiconfigurator_core/systems/data"

func main() {
	kernels := flag.String("kernels", "", "folder of measured kernels")
	gpus := flag.String("gpus", "", "JSON lines with the facts of the measured GPUs (default: built in)")
	source := flag.String("source", defaultSource, "what to record as the source")
	training := flag.String("training", "", "files of JSON lines with attention kernels of training, forward and backward, separated by commas")
	out := flag.String("out", "", "folder that gets compute/data and collective/data (default: only print)")
	flag.Parse()
	if err := run(options{*kernels, *gpus, *source, *training, *out}); err != nil {
		fmt.Fprintln(os.Stderr, "fit:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct{ kernels, gpus, source, training, out string }

// run fits every file that is there, prints the table and writes the result.
func run(o options) error {
	if o.kernels == "" {
		return fmt.Errorf("-kernels FOLDER is needed")
	}
	devices, err := readDevices(o.gpus)
	if err != nil {
		return err
	}
	records, err := fitAll(os.DirFS(o.kernels), devices)
	if err != nil {
		return err
	}
	for _, r := range records {
		r.Source = o.source
	}
	printTable(os.Stdout, records)
	if o.out != "" {
		if err := write(filepath.Join(o.out, "compute/data/surfaces.jsonl"), records); err != nil {
			return err
		}
	}
	if err := runCollectives(o, devices); err != nil {
		return err
	}
	return runTraining(o, records)
}

// runCollectives fits the collectives inside an NVLink domain.
func runCollectives(o options, devices map[string]device) error {
	curves, err := fitCollectives(os.DirFS(o.kernels), devices)
	if err != nil || len(curves) == 0 {
		return err
	}
	for _, c := range curves {
		c.Source = o.source
	}
	printCollectives(os.Stdout, curves)
	if o.out == "" {
		return nil
	}
	return writeCollectives(filepath.Join(o.out, "collective/data"), curves)
}

// runTraining compares the attention kernels of training with the surfaces.
func runTraining(o options, surfaces []*surface.Record) error {
	if o.training == "" {
		return nil
	}
	rates, err := fitAttentionKernels(o.training, surfaces)
	if err != nil {
		return err
	}
	printRates(os.Stdout, rates)
	if o.out == "" {
		return nil
	}
	return writeRates(filepath.Join(o.out, "compute/data/attention.jsonl"), rates)
}

// printRates prints one line of Markdown per attention kernel.
func printRates(w io.Writer, rates []*surface.KernelRates) {
	fmt.Fprintln(w, "\n| GPU | kernel | dtype | head dim, window | log2 length | forward over surface | backward over forward | rows |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
	for _, r := range rates {
		fmt.Fprintf(w, "| %s | %s | %s | %d/%d, %d | %v | %.2f | %.2f | %d |\n", r.GPU, r.Kernel, r.DType, r.QK, r.V, r.Window, r.Lengths, r.Forward, r.Backward, r.Rows)
	}
}

// fitAll fits the surfaces of each kind of kernel whose file exists.
func fitAll(folder fs.FS, devices map[string]device) ([]*surface.Record, error) {
	var records []*surface.Record
	for _, kind := range []struct {
		file string
		fit  func([]row, map[string]device) ([]*surface.Record, error)
	}{
		{"gemm", fitGEMM}, {"attention", fitAttention}, {"mla", fitMLA},
	} {
		rows, err := readTable(folder, kind.file)
		if err != nil {
			return nil, err
		}
		fitted, err := kind.fit(rows, devices)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind.file, err)
		}
		records = append(records, fitted...)
	}
	return records, nil
}

// printTable prints one line of Markdown per surface.
func printTable(w io.Writer, records []*surface.Record) {
	fmt.Fprintln(w, "| GPU | operation | dtype | head dim, window | rows | median | p90 | max |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
	for _, r := range records {
		shape := ""
		if r.HeadDim > 0 {
			shape = fmt.Sprintf("%d", r.HeadDim)
		}
		if r.Window > 0 {
			shape += fmt.Sprintf(", %d", r.Window)
		}
		e := r.LeftOut
		fmt.Fprintf(w, "| %s | %s | %s | %s | %d | %.1f %% | %.1f %% | %.0f %% |\n",
			r.GPU, r.Operation, r.DType, shape, r.Rows, 100*e.Median, 100*e.P90, 100*e.Max)
	}
}

// write merges the records with those in the file that were not fitted anew,
// and writes them in a stated order.
func write(path string, records []*surface.Record) error {
	old, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for line := range bytes.Lines(old) {
		r, err := surface.Parse(line)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(records, func(n *surface.Record) bool { return compare(n, r) == 0 }) {
			records = append(records, r)
		}
	}
	slices.SortFunc(records, compare)
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	for _, r := range records {
		if err := encoder.Encode(r); err != nil {
			return err
		}
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// compare orders records by what they are a surface of.
func compare(a, b *surface.Record) int {
	return cmp.Or(cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.DType, b.DType),
		cmp.Compare(a.HeadDim, b.HeadDim), cmp.Compare(a.Window, b.Window))
}
