package main

import (
	"testing"

	"github.com/ndc-dev/ndc/compiler/estimate"
)

func BenchmarkLoss(b *testing.B) {
	cases, err := load(measured, measured)
	if err != nil {
		b.Fatal(err)
	}
	p := estimate.DefaultParameters()
	for b.Loop() {
		loss(cases, p)
	}
}
