package surface

import "math"

// AttentionSet holds the forward surfaces of one GPU by head dimension under
// one roof.
type AttentionSet struct {
	Roof     Roof
	full     []*Record // ascending head dimension
	windowed []*Record // of the narrowest window, ascending head dimension
	mla      *Record
}

// Windows between the narrowest measured and one that changes nothing are
// interpolated in their logarithm.
const (
	narrowWindow = 128
	wideWindow   = 8192
)

// NewAttentionSet collects the attention surfaces among records, which are in
// ascending order of head dimension.
func NewAttentionSet(roof Roof, records []*Record) AttentionSet {
	a := AttentionSet{Roof: roof}
	for _, r := range records {
		switch {
		case r.Operation == MLA:
			a.mla = r
		case r.Operation == Attention && r.Window == 0:
			a.full = append(a.full, r)
		case r.Operation == Attention && r.Window <= narrowWindow:
			a.windowed = append(a.windowed, r)
		}
	}
	return a
}

// Seconds is the forward time of the measured kernel; window 0 means all keys.
func (a *AttentionSet) Seconds(s Scores, window float64) float64 {
	roof, p := a.Roof.Attention(s), s.Point()
	if a.mla != nil && s.QK > s.V {
		return roof * a.mla.Correction(p)
	}
	correction := interpolate(a.full, s.QK, p)
	if window <= 0 || window >= s.Keys || window >= wideWindow || len(a.windowed) == 0 {
		return roof * math.Exp(correction)
	}
	narrow := interpolate(a.windowed, s.QK, p)
	share := max(0, math.Log2(window/narrowWindow)/math.Log2(wideWindow/narrowWindow))
	return roof * math.Exp(narrow+share*(correction-narrow))
}

// interpolate is the logarithm of the correction at a head dimension between
// the measured ones.
func interpolate(records []*Record, headDim float64, p Point) float64 {
	last := len(records) - 1
	if headDim <= float64(records[0].HeadDim) {
		return records[0].At(p)
	}
	for i := range last {
		low, high := float64(records[i].HeadDim), float64(records[i+1].HeadDim)
		if headDim >= high {
			continue
		}
		share := math.Log2(headDim/low) / math.Log2(high/low)
		below := records[i].At(p)
		if share == 0 {
			return below
		}
		return below + share*(records[i+1].At(p)-below)
	}
	return records[last].At(p)
}
