package logs

import (
	"regexp"
	"strings"
)

// Table is one run of a program of nccl-tests.
type Table struct {
	Line       int
	Collective string // all_reduce, all_gather, …; "" when neither the program's name nor the columns tell
	Ranks      int
	Nodes      int
	Rows       []TableRow
}

// TableRow is one message size, out of place.
type TableRow struct {
	Bytes        float64
	Seconds      float64
	BusBandwidth float64 // bytes per second, nccl-tests' definition
	Wrong        bool    // some results were
}

// nccl-tests prints who takes part, then a row per size: size, count, type,
// then, where the collective has them, operation and root, and time in
// microseconds with algorithm and bus bandwidth in GB/s, out of place and in
// place. Releases since 2.15 name the program.
var (
	tableName = regexp.MustCompile(`(?:Collective test (?:starting|concluded): |\b)(all_reduce|all_gather|reduce_scatter|alltoall|broadcast|sendrecv|reduce|gather|scatter)_perf\b`)
	tableRank = regexp.MustCompile(`^# +Rank +(\d+) +(?:Group +\d+ +)?Pid +\d+ on +(\S+) +device`)
	tableRow  = regexp.MustCompile(`^ +(\d+) +(\d+) +(\w+) +(?:(\w+) +(-?\d+) +)?([\d.]+) +([\d.]+) +([\d.]+) +(\S+)`)
	tableMean = regexp.MustCompile(`^# Avg bus bandwidth`)
)

// tableReader collects what stands above the rows.
type tableReader struct {
	collective string
	ranks      int
	hosts      map[string]bool
}

func table(p *Parser, text string) bool {
	if strings.HasPrefix(text, " ") == strings.HasPrefix(text, "#") && !strings.Contains(text, "_perf") {
		return false
	}
	if p.table == nil {
		p.table = &tableReader{hosts: map[string]bool{}}
	}
	r := p.table
	if m := tableRank.FindStringSubmatch(text); m != nil {
		r.ranks = max(r.ranks, whole(m[1])+1)
		if len(r.hosts) < most {
			r.hosts[strings.Clone(m[2])] = true
		}
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
		r.collective = strings.Clone(strings.Replace(m[1], "alltoall", "all_to_all", 1))
		return true
	}
	m := tableRow.FindStringSubmatch(text)
	if m == nil || r.ranks == 0 {
		return false
	}
	row := TableRow{Bytes: number(m[1]), Seconds: number(m[6]) / 1e6, BusBandwidth: number(m[8]) * 1e9, Wrong: m[9] != "0" && m[9] != "N/A"}
	if p.rows++; p.rows > most {
		return true
	}
	if !p.trial {
		p.log.Tables = append(p.log.Tables, Table{Line: p.line, Collective: r.collective, Ranks: r.ranks, Nodes: len(r.hosts)})
		p.trial = true
	}
	t := &p.log.Tables[len(p.log.Tables)-1]
	if t.Collective == "" {
		t.Collective = collectiveOf(m[4], number(m[7])*1e9, row.BusBandwidth, r.ranks)
	}
	t.Rows = append(t.Rows, row)
	return true
}

// collectiveOf tells collectives apart by the ratio of the two bandwidths and
// whether they compute; "" where two are alike.
func collectiveOf(operation string, algorithm, bus float64, ranks int) string {
	if algorithm <= 0 || ranks < 2 {
		return ""
	}
	n := float64(ranks)
	near := func(ratio float64) bool { return bus > algorithm*ratio*0.97 && bus < algorithm*ratio*1.03 }
	sums := operation != "none" && operation != ""
	switch {
	case sums && near(2*(n-1)/n) && !near((n-1)/n):
		return "all_reduce"
	case sums && near((n-1)/n) && ranks > 2:
		return "reduce_scatter"
	}
	return ""
}
