package main

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/ndc-dev/ndc/compiler/estimate"
)

// heldOut are predictions of rows by parameters that were fitted without them:
// predicted over measured step time by id.
type heldOut map[string]float64

// crossValidation holds the two ways of leaving rows out.
type crossValidation struct {
	source, model heldOut
	folds         map[string]string // the model of each row by id
}

// crossValidate refits every parameter once per source and once per model
// without its rows, and predicts them. Nothing is kept between runs.
func crossValidate(examples []example, p estimate.Parameters) *crossValidation {
	t := newTuner(examples, p)
	c := &crossValidation{folds: map[string]string{}}
	c.source = t.leaveOut(func(x *example) string { return x.row.file })
	c.model = t.leaveOut(architecture)
	for _, x := range t.rows {
		c.folds[x.row.ID] = architecture(x)
	}
	return c
}

// leaveModels refits every parameter once per model of a source without its rows
// there, and predicts them: all other models of the source had a part.
func leaveModels(examples []example, p estimate.Parameters) heldOut {
	return newTuner(examples, p).leaveOut(func(x *example) string { return x.row.file + " " + architecture(x) })
}

// architecture names a model by its shape, so that the same model is one under
// every name and number of layers.
func architecture(x *example) string {
	m := &x.job.Model
	s := fmt.Sprintf("%d wide, MLP %d, %d heads", m.HiddenSize, m.FFNHiddenSize, m.Attention.Heads)
	if e := m.MoE; e != nil {
		s += fmt.Sprintf(", %d of %d experts", e.TopK, e.Experts)
	}
	return s
}

// leaveOut fits once per group without the group's rows.
func (t *tuner) leaveOut(group func(*example) string) heldOut {
	rows := map[string][]int{}
	for i, x := range t.rows {
		rows[group(x)] = append(rows[group(x)], i)
	}
	out := heldOut{}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		in := slices.Repeat([]bool{true}, len(t.rows))
		for _, i := range rows[name] {
			in[i] = false
		}
		_, residuals := t.fit(in)
		for _, i := range rows[name] {
			out[t.rows[i].row.ID] = math.Exp(residuals[i])
		}
	}
	return out
}
