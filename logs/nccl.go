package logs

import (
	"strings"
)

// Table is one run of a program of nccl-tests.
type Table struct {
	Collective string // all_reduce, all_gather, …; "" when neither the program's name nor the columns tell
	Ranks      int    // of one collective: of a group, where the ranks are split into several that run at once
	Nodes      int    // that it is over
	Rows       []TableRow
}

// TableRow is one message size, out of place.
type TableRow struct {
	Bytes        float64 // of the whole buffer
	Seconds      float64 // of one call
	BusBandwidth float64 // bytes per second, nccl-tests' definition
	Wrong        bool    // some results were
}

// nccl-tests prints who takes part, then a row per size: size, count, type,
// then, where the collective has them, operation and root, and time in
// microseconds with algorithm and bus bandwidth in GB/s, out of place and in
// place. Releases since 2.15 name the program, which ends with _mpi where one that is
// built with MPI lies beside one without, as in NVIDIA's containers. Those before 2.13 have no root where there
// is one operation only, and print in the place of wrong results the largest error, with
// an asterisk where it is too large. A program that was built without MPI takes every
// process for a run of its own, of one rank. NCCL_TESTS_SPLIT has groups of the ranks run
// each its own collective, all at once: times and bandwidths are those of a group.
// Any text may stand in front of a line, as what collects logs puts there.
var (
	tableName = compile(`(?:Collective test (?:starting|concluded): |\b)(all_reduce|all_gather|reduce_scatter|alltoall|broadcast|sendrecv|reduce|gather|scatter)_perf(?:_mpi)?\b`)
	tableRank = compile(`(?:^|\s)# +Rank +(\d+) +(?:Group +(\d+) +)?Pid +\d+ on +(\S+) +device`)
	tableRow  = compile(`(?:^|[^ ]) +(\d+) +(\d+) +((?:u?int|half|b?float|double|f8e)\w*) +(?:([a-z]\w*) +(?:(-?\d+) +)?)?([\d.]+) +([\d.]+) +([\d.]+) +(\S+)`)
	tableHead = compile(`(?:^|\s)# nThread +\d+ +nGpus `)
	tableMean = compile(`(?:^|\s)# Avg bus bandwidth`)
)

// tableReader collects what stands above the rows.
type tableReader struct {
	collective string
	next       string // collective of the next table, where that was named before this one ended
	ranks      int
	hosts      map[string]bool
	groups     map[string]*tableGroup
	sizes      map[groupSize]int // of how many groups
	lines      int               // of ranks
}

// groupSize is how many ranks share a collective, over how many nodes.
type groupSize struct{ ranks, nodes int }

// tableGroup are ranks that share a collective.
type tableGroup struct {
	ranks map[int]bool
	hosts map[string]bool
}

// rank takes a line of a rank.
func (r *tableReader) rank(number int, group, host string) {
	if r.ranks = max(r.ranks, number+1); r.lines == most {
		return
	}
	r.lines++
	host = strings.Clone(host)
	r.hosts[host] = true
	g := r.groups[group]
	if g == nil {
		g = &tableGroup{map[int]bool{}, map[string]bool{}}
		r.groups[strings.Clone(group)] = g
	}
	if r.sizes[g.size()]--; r.sizes[g.size()] <= 0 {
		delete(r.sizes, g.size())
	}
	g.ranks[number], g.hosts[host] = true, true
	r.sizes[g.size()]++
}

func (g *tableGroup) size() groupSize { return groupSize{len(g.ranks), len(g.hosts)} }

// shared is the size of what shares a collective; none where groups are unlike: what is
// printed is a mean over them.
func (r *tableReader) shared() groupSize {
	if len(r.groups) == 1 { // the lines of some ranks may be missing
		return groupSize{r.ranks, len(r.hosts)}
	}
	if len(r.sizes) == 1 {
		for size := range r.sizes {
			return size
		}
	}
	return groupSize{}
}

func table(p *Parser, text string) bool {
	rows := p.table != nil && p.table.ranks > 0
	if !(rows && strings.Contains(text, "  ")) && !strings.Contains(text, "# ") && !strings.Contains(text, "_perf") {
		return false
	}
	if p.table == nil || rows && tableHead.MatchString(text) { // the last one was cut off
		var named string
		if p.table != nil {
			named = p.table.next
		}
		p.table, p.trial = &tableReader{collective: named, hosts: map[string]bool{}, groups: map[string]*tableGroup{}, sizes: map[groupSize]int{}}, false
	}
	r := p.table
	if m := tableRank.FindStringSubmatch(text); m != nil {
		r.rank(whole(m[1]), m[2], m[3])
		return true
	}
	if tableMean.MatchString(text) {
		p.table, p.trial = nil, false
		return true
	}
	if m := tableName.FindStringSubmatch(text); m != nil {
		if strings.Contains(text, "concluded") {
			return true
		}
		name := strings.Clone(strings.Replace(m[1], "alltoall", "all_to_all", 1))
		if r.next = name; r.ranks == 0 {
			r.collective = name
		}
		return true
	}
	m := tableRow.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	of := r.shared()
	if of.ranks < 2 || of.ranks < of.nodes {
		return false
	}
	row := TableRow{Bytes: number(m[1]), Seconds: number(m[6]) / 1e6, BusBandwidth: number(m[8]) * 1e9, Wrong: wrong(m[9])}
	if p.rows++; p.rows > most {
		return true
	}
	if !p.trial {
		p.log.Tables = append(p.log.Tables, Table{Collective: r.collective, Ranks: of.ranks, Nodes: of.nodes})
		p.trial = true
	}
	t := &p.log.Tables[len(p.log.Tables)-1]
	if t.Collective == "" {
		t.Collective = collectiveOf(m[4], number(m[7])*1e9, row.BusBandwidth, of.ranks)
	}
	t.Rows = append(t.Rows, row)
	return true
}

// wrong reports whether some results were: how many, or an error that is too large.
func wrong(text string) bool { return whole(text) > 0 || strings.HasSuffix(text, "*") }

// collectiveOf tells collectives apart by the ratio of the two bandwidths and
// whether they compute; "" where two are alike: a program that sends to one neighbour or
// sums for one rank prints the same of both.
func collectiveOf(operation string, algorithm, bus float64, ranks int) string {
	if algorithm <= 0 || ranks <= 2 {
		return ""
	}
	n := float64(ranks)
	near := func(ratio float64) bool { return bus > algorithm*ratio*0.97 && bus < algorithm*ratio*1.03 }
	sums := operation != "none" && operation != ""
	switch {
	case sums && near(2*(n-1)/n) && !near((n-1)/n):
		return "all_reduce"
	case sums && near((n-1)/n) && !near(1):
		return "reduce_scatter"
	}
	return ""
}
