package main

import (
	"os"
	"testing"

	"github.com/ndc-dev/ndc/compiler/estimate"
)

func BenchmarkLoss(b *testing.B) {
	cases, err := load(os.DirFS("../../testdata/measured"))
	if err != nil {
		b.Fatal(err)
	}
	p := estimate.DefaultParameters()
	for b.Loop() {
		loss(cases, p)
	}
}
