package schedule

// Held is what a rank of an order holds when it is fullest.
type Held struct {
	InFlight int   // chunk-forwards alive at once
	Alive    Split // the same by local chunk
	// Begun says of each local chunk whether gradients of it exist when the rank
	// is as full for the last time.
	Begun [2]bool
}

// Held walks the passes of a rank that has at most two chunks.
func (o *Order) Held(rank int) Held {
	var h Held
	var alive [2]int
	var begun [2]bool
	for _, p := range o.Ranks[rank] {
		local := 0
		if int(p.Chunk) != o.Placement.Chunk(rank, 0, o.Pipeline) {
			local = 1
		}
		alive[local] += p.Work.alive()
		begun[local] = begun[local] || p.Work != Forward
		if n := alive[0] + alive[1]; n >= h.InFlight {
			h = Held{n, Split{listed: true, pair: alive}, begun}
		}
	}
	return h
}
