package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
)

// factsFile holds facts about clusters beside the rows.
const factsFile = "clusters.jsonl"

// readRows reads every row of a folder, in the order of the files' names, and
// says of which files no line is a training step. A row that cannot be read
// is kept, with what is odd about it: rows are counted, never lost.
func readRows(folder fs.FS) (rows []row, others []string, err error) {
	names, err := fs.Glob(folder, "*.jsonl")
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		if name == factsFile {
			continue
		}
		lines, err := readLines(folder, name)
		if err != nil {
			return nil, nil, err
		}
		if !slices.ContainsFunc(lines, isStep) {
			others = append(others, name)
			continue
		}
		for i, line := range lines {
			r := parseRow(line)
			r.file = name
			if r.ID == "" {
				r.ID = fmt.Sprintf("%s:%d", name, i+1)
			}
			rows = append(rows, r)
		}
	}
	return rows, others, nil
}

// isStep tells a training step from measurements of another kind.
func isStep(line []byte) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal(line, &o) == nil && o["model"] != nil && o["layout"] != nil && o["measured"] != nil
}

// parseRow reads one line. A value of the wrong kind leaves its field empty
// and is remembered, so that it is not taken for a value that is not stated.
func parseRow(line []byte) row {
	var r row
	line, err := plainNumbers(line)
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		r.odd = fmt.Sprintf("%s is a %s, not as the format has it", kind.Field, kind.Value)
	case err != nil:
		r.odd = "the line is not a JSON object"
	}
	r.complete()
	return r
}

// plainNumbers writes whole numbers without a fraction: tables that went
// through other tools say 8.0.
func plainNumbers(line []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(plainNumber(v))
}

func plainNumber(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = plainNumber(x)
		}
	case []any:
		for i, x := range v {
			v[i] = plainNumber(x)
		}
	case json.Number:
		if f, err := v.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return int64(f)
		}
	}
	return v
}

// readLines splits a file into lines, empty ones left out.
func readLines(folder fs.FS, name string) ([][]byte, error) {
	b, err := fs.ReadFile(folder, name)
	if err != nil {
		return nil, err
	}
	var lines [][]byte
	s := bufio.NewScanner(bytes.NewReader(b))
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		if line := bytes.TrimSpace(s.Bytes()); len(line) > 0 {
			lines = append(lines, bytes.Clone(line))
		}
	}
	return lines, s.Err()
}
