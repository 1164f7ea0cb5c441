package memory

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
)

//go:embed data/precisions.jsonl
var precisionData []byte

//go:embed data/overheads.jsonl
var overheadData []byte

// precisions by name, and by name/recipe.
var precisions = readPrecisions()

// overheads by kind, each with its source in the data file.
var overheads = readOverheads()

func readPrecisions() map[string]precision {
	out := map[string]precision{}
	eachLine(precisionData, func(line []byte) error {
		var row struct {
			Precision   string  `json:"precision"`
			WeightBytes float64 `json:"weight_bytes"`
			InputBytes  float64 `json:"input_bytes"`
			Align       int64   `json:"align"`
		}
		err := json.Unmarshal(line, &row)
		out[row.Precision] = precision{row.WeightBytes, row.InputBytes, row.Align}
		return err
	})
	return out
}

func readOverheads() map[string]float64 {
	out := map[string]float64{}
	eachLine(overheadData, func(line []byte) error {
		var row struct {
			Kind  string  `json:"kind"`
			Value float64 `json:"value"`
		}
		err := json.Unmarshal(line, &row)
		out[row.Kind] = row.Value
		return err
	})
	return out
}

// eachLine decodes embedded JSON lines; a broken file is a programmer's mistake.
func eachLine(data []byte, decode func([]byte) error) {
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		if err := decode(s.Bytes()); err != nil {
			panic("memory: " + err.Error())
		}
	}
}
