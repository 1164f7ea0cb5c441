package budget

import "github.com/zclconf/go-cty/cty"

const (
	// maxDepth bounds values within values, since much of what handles them is
	// recursive.
	maxDepth = 200
	// maxBits bounds the exponent and the digits of a number, far beyond what
	// JSON or a framework reads: the time to write one out goes with its square.
	maxBits = 1 << 13
	// maxWidth bounds tuples and objects, whose elements' types the library
	// compares each with each other to find one for all, and sets, which it
	// sorts at every turn.
	maxWidth = 1 << 12
)

// Size is what a value holds, in units, or more than MaxValue as soon as it is
// known to hold that: values share their parts, so that a short expression can
// make one that no walk comes to the end of.
func Size(v cty.Value) int {
	s := sizer{}
	s.value(v, 0)
	return s.units
}

type sizer struct {
	units int
	work  float64 // of comparing elements with one another
}

// cost is what it takes to handle a value: its size, and the work of comparing
// elements.
func cost(v cty.Value) (size int, units float64) {
	s := sizer{}
	s.value(v, 0)
	return s.units, float64(s.units) + s.work
}

func (s *sizer) compared(v cty.Value) {
	if t := v.Type(); !t.IsListType() && !t.IsMapType() {
		n := float64(v.LengthInt())
		s.work += n * n / 64
	}
}

// tooLarge stops every walk.
func (s *sizer) tooLarge() { s.units = MaxValue + 1 }

func (s *sizer) full(depth int) bool {
	if depth > maxDepth {
		s.tooLarge()
	}
	return s.units > MaxValue
}

func (s *sizer) value(v cty.Value, depth int) {
	v, _ = v.Unmark()
	t := v.Type()
	s.units++
	switch {
	case s.full(depth):
	case !v.IsKnown() || v.IsNull():
		s.shape(t, depth+1) // a bare type can be huge, too
	case t == cty.String:
		s.units += len(v.AsString()) / bytesPerUnit
	case t == cty.Number:
		s.number(v)
	case !v.CanIterateElements():
	case v.LengthInt() == 0:
		s.shape(t, depth+1)
	case !t.IsListType() && !t.IsMapType() && v.LengthInt() > maxWidth:
		s.tooLarge()
	default:
		s.compared(v)
		for it := v.ElementIterator(); it.Next() && !s.full(depth); {
			key, e := it.Element()
			if key.Type() == cty.String && key.IsKnown() && !t.IsSetType() {
				s.units += len(key.AsString()) / bytesPerUnit
			}
			s.value(e, depth+1)
		}
	}
}

func (s *sizer) number(v cty.Value) {
	f := v.AsBigFloat()
	if f.IsInf() {
		return
	}
	exponent := f.MantExp(nil)
	bits := max(exponent, -exponent) + int(f.MinPrec())
	if bits > maxBits {
		s.tooLarge()
		return
	}
	s.units += bits / 8 / bytesPerUnit
	square := float64(bits) * float64(bits)
	if s.work += square / (1 << 17); exponent < 0 { // of digits behind the point there are as many as bits
		s.work += square / (1 << 15)
	}
}

// shape counts the parts of a type.
func (s *sizer) shape(t cty.Type, depth int) {
	s.units++
	switch {
	case s.full(depth):
	case t.IsCollectionType():
		s.shape(t.ElementType(), depth+1)
	case t.IsTupleType():
		for _, e := range t.TupleElementTypes() {
			if s.shape(e, depth+1); s.full(depth) {
				return
			}
		}
	case t.IsObjectType():
		for _, e := range t.AttributeTypes() {
			if s.shape(e, depth+1); s.full(depth) {
				return
			}
		}
	}
}

// shapeSize is what a type holds, as Size of values.
func shapeSize(t cty.Type) int {
	s := sizer{}
	s.shape(t, 0)
	return s.units
}
