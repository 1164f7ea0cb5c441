package file

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode"
)

// largest is the greatest number that a plan can hold: what a job may say and the
// longest of runs stay far below.
const largest = 1e30

// Read reads a plan.json of this format. It may be anybody's: what ndc would not
// write, and what no figure could be told of, is an error.
func Read(text []byte) (*File, error) {
	var f File
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	if err := Check(f.FormatVersion, FormatVersion, f.Job, f.Site, f.Backend, f.BackendVersion, f.Input.Model, f.Input.GPU); err != nil {
		return nil, err
	}
	if err := checkNumbers(text); err != nil {
		return nil, err
	}
	if f.Feasible {
		if err := f.Time.check(); err != nil {
			return nil, err
		}
	}
	return &f, nil
}

// checkNumbers says which number of a JSON text is larger than any of a plan.
func checkNumbers(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if err != nil {
			return nil // its end: it was read before
		}
		if n, ok := token.(float64); ok && math.Abs(n) > largest {
			return fmt.Errorf("%g is no number of a plan", n)
		}
	}
}

// check says what is wrong with the times of a plan that can run: a step takes time,
// and so do all its parts, which make up the step.
func (t *Time) check() error {
	step := float64(t.StepSeconds)
	if step <= 0 {
		return fmt.Errorf("its step takes %g s", step)
	}
	if low, high := t.StepRangeSeconds[0], t.StepRangeSeconds[1]; low <= 0 || low > high {
		return fmt.Errorf("its step takes %g to %g s", float64(low), float64(high))
	}
	var sum float64
	for _, p := range t.Breakdown {
		if p.Seconds < 0 {
			return fmt.Errorf("%g s of its step are %q", float64(p.Seconds), p.ID)
		}
		sum += float64(p.Seconds)
	}
	if math.Abs(sum-step) > 0.01*step {
		return fmt.Errorf("the parts of its step take %g s, and the step %g s", sum, step)
	}
	return nil
}

// Check says what is wrong with a JSON form of ndc's that may be anybody's: its
// format is another than the one that is read, or a text that people are told as it
// is has a character that cannot be shown.
func Check(format, read string, texts ...string) error {
	had, _, _ := strings.Cut(format, ".")
	if wanted, _, _ := strings.Cut(read, "."); had != wanted {
		return fmt.Errorf("its format is %q, and this version of ndc reads %s", format, read)
	}
	for _, text := range texts {
		if strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
			return fmt.Errorf("it has a character that cannot be shown in %q", text)
		}
	}
	return nil
}
