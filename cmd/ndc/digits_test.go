package main

import (
	"encoding/json"
	"io"
	"path"
	"strings"
	"testing"
)

// checkDigits asks that numbers with a fraction have at most nine significant
// digits in every plan.json, so that processors which differ in the last of
// sixteen write the same bytes (integration/processors asks them).
func checkDigits(t *testing.T, files map[string]string) {
	t.Helper()
	for name, content := range files {
		if path.Base(name) != planName {
			continue
		}
		fractions := 0
		for _, number := range numbers(t, content) {
			if !strings.ContainsAny(number, ".e") {
				continue
			}
			fractions++
			if significant(number) > 9 {
				t.Errorf("%s: %s has more than nine digits", name, number)
			}
		}
		if fractions == 0 {
			t.Errorf("%s has no number with a fraction", name)
		}
	}
}

// numbers lists the numbers of a JSON text as they stand in it.
func numbers(t *testing.T, text string) (list []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := token.(json.Number); ok {
			list = append(list, n.String())
		}
	}
}

// significant counts the digits of a number without leading and trailing zeros.
func significant(number string) int {
	mantissa, _, _ := strings.Cut(strings.TrimPrefix(number, "-"), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	return len(strings.TrimLeft(whole+strings.TrimRight(fraction, "0"), "0"))
}
