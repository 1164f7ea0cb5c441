package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	recordedPath = "tools/choice/recorded.jsonl"
	pagePath     = "docs/choice.md"
)

const opening = `<!-- Written by tools/choice; do not edit. -->
# What is chosen beside what others run

Every published launch of [testdata/launches](../testdata/launches) and every example that pins something, planned as it is pinned, with
its layout left open, and with nothing pinned. Rates are predicted tokens per second and GPU; shares are of the pinned layout's.

A layout that is left open is never more than 3 % slower than the pinned one, or the pinned one is tied with it
([layout.md](layout.md#the-choice)). Where nothing is pinned, a launch may be faster by options that a search does not choose by itself, because they need
another package, round otherwise, or too little is known of them: the last column has what of the pinned ones it does not, and the plan of the free
job says what each would gain. Where the pinned layout is predicted not to fit, there is no share.

| launch | published | pinned | layout open | | nothing pinned | | takes | not chosen unasked |
|---|---|---|---|---|---|---|---|---|
`

func readRecorded(root string) ([]answer, error) {
	b, err := os.ReadFile(filepath.Join(root, recordedPath))
	if os.IsNotExist(err) {
		return nil, nil
	}
	var all []answer
	for s := bufio.NewScanner(bytes.NewReader(b)); err == nil && s.Scan(); {
		var a answer
		err = json.Unmarshal(s.Bytes(), &a)
		all = append(all, a)
	}
	return all, err
}

func write(root string, all []answer) error {
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	encoder.SetEscapeHTML(false)
	for i := range all {
		if err := encoder.Encode(&all[i]); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(root, recordedPath), lines.Bytes(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, pagePath), page(all), 0o644)
}

// page is docs/choice.md.
func page(all []answer) []byte {
	var b bytes.Buffer
	b.WriteString(opening)
	for i := range all {
		a := &all[i]
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", a.Name, number(a.Published), number(a.Pinned),
			number(a.Layout), a.share(a.Layout, a.Tied), number(a.Free), a.share(a.Free, false), a.Takes, strings.Join(a.Unasked, ", "))
	}
	return b.Bytes()
}

func number(rate float64) string {
	if rate == 0 {
		return "–"
	}
	if rate >= 1000 {
		return fmt.Sprintf("%.0f", rate)
	}
	return fmt.Sprintf("%.4g", rate)
}

// share is a rate over the pinned one.
func (a *answer) share(rate float64, tied bool) string {
	if a.Pinned == 0 || rate == 0 {
		return ""
	}
	text := fmt.Sprintf("%.3f", rate/a.Pinned)
	if tied {
		text += ", tied"
	}
	return text
}

// faults says what of an answer breaks the rule of choice, "" if nothing does.
func (a *answer) faults() string {
	switch {
	case a.Pinned == 0:
		return ""
	case a.Layout < leastShare*a.Pinned && !a.Tied:
		return fmt.Sprintf("its layout left open, the rate falls to %.3f of the pinned one", a.Layout/a.Pinned)
	case a.Free < leastShare*a.Pinned && len(a.Unasked) == 0 && !a.Tied:
		return fmt.Sprintf("with nothing pinned the rate falls to %.3f, and every option of the pinned launch may be chosen", a.Free/a.Pinned)
	}
	return ""
}
