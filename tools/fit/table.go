package main

import (
	"compress/gzip"
	_ "embed"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/compiler/compute/surface"
)

// row is one measurement: its columns by name.
type row map[string]string

// number reads a column; the caller checks err once at the end.
func (r row) number(column string, err *error) float64 {
	v, e := strconv.ParseFloat(r[column], 64)
	if e != nil && *err == nil {
		*err = fmt.Errorf("column %s: %w", column, e)
	}
	return v
}

// readTable reads name.csv.gz or name.csv; neither: no rows.
func readTable(folder fs.FS, name string) ([]row, error) {
	f, err := folder.Open(name + ".csv.gz")
	if errors.Is(err, fs.ErrNotExist) {
		f, err = folder.Open(name + ".csv")
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return parseTable(f)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s.csv.gz: %w", name, err)
	}
	return parseTable(unzipped)
}

// parseTable reads CSV with a header line.
func parseTable(r io.Reader) ([]row, error) {
	lines, err := csv.NewReader(r).ReadAll()
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	var rows []row
	for _, line := range lines[1:] {
		m := make(row, len(line))
		for i, v := range line {
			m[lines[0][i]] = v
		}
		rows = append(rows, m)
	}
	return rows, nil
}

//go:embed gpus.jsonl
var builtInGPUs string

// device holds the facts of a measured GPU that its roofs need.
type device struct {
	Column     string             `json:"column"`  // as the measurements name it
	Catalog    string             `json:"catalog"` // catalogue name
	Capability string             `json:"capability"`
	TFLOPS     map[string]float64 `json:"tflops"` // dense peak per data type
	Bandwidth  float64            `json:"bandwidth_tb_s"`
	SMs        int                `json:"sms"`
	NVLink     float64            `json:"nvlink_gb_s"` // per direction
	Source     string             `json:"source"`
}

// inputSizes is the bytes per multiplied element, scales included.
var inputSizes = map[string]float64{"bf16": 2, "fp8": 1, "fp8_block": 1, "nvfp4": 0.5625}

// dtypes maps the names that measurements use to those of package compute.
var dtypes = map[string]string{"bfloat16": "bf16", "float16": "bf16", "fp8": "fp8", "fp8_block": "fp8_block", "nvfp4": "nvfp4"}

// readDevices reads the facts of the measured GPUs, by column name.
func readDevices(path string) (map[string]device, error) {
	text := builtInGPUs
	if path != "" {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		text = string(b)
	}
	devices := map[string]device{}
	for line := range strings.Lines(text) {
		var d device
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			return nil, err
		}
		devices[d.Column] = d
	}
	return devices, nil
}

// roof is the roof of the device in a data type.
func (d device) roof(dtype string) (surface.Roof, error) {
	peak, ok := d.TFLOPS[dtype]
	size, known := inputSizes[dtype]
	if !ok || !known {
		return surface.Roof{}, fmt.Errorf("no %s peak for %q", dtype, d.Column)
	}
	return surface.Roof{FLOPS: peak * 1e12, Bandwidth: d.Bandwidth * 1e12, SMs: d.SMs, InputSize: size}, nil
}
