//go:build slurm

package slurm

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// touched is what a rank asks of file systems from its start to its end.
type touched struct {
	opened, read       int // in all: files that were opened, bytes that were read by calls
	jobOpened, jobRead int // in the job's folder: scripts, indices, checkpoints
	documents          int // times that the data were opened: for Megatron-LM once for each document of a sample
}

// Of the corpus, in equal documents: 820 MB of data, and up to 32 MB of index.
const (
	corpusTokens  = manyDocuments * 256
	manyDocuments = 1_600_000
)

// startsQuietly counts what ranks ask of the shared folder when they start with indices
// that are there: with two and with four ranks, and with one and with many documents.
// None of it may grow: a thousand nodes would ask for it at once.
func startsQuietly(t *testing.T, c *cluster, f trainer) {
	f.skip(t)
	base, least := f.started(t, c, 1, 1)
	for _, x := range []struct{ nodes, documents int }{{2, 1}, {1, manyDocuments}} {
		got, fetched := f.started(t, c, x.nodes, x.documents)
		if fetched > least+4<<20 {
			t.Errorf("%d nodes with %d documents fetch %d bytes of data and indices; one node with one document %d", x.nodes, x.documents, fetched, least)
		}
		for rank, m := range got {
			like := base[min(rank, 1)]
			if m.jobOpened > like.jobOpened+10 || m.jobRead > like.jobRead+1<<16 || m.opened-m.documents > like.opened*11/10 || m.read > like.read*11/10 {
				t.Errorf("rank %d of %d nodes with %d documents: %+v; of one node with one document: %+v", rank, x.nodes, x.documents, m, like)
			}
		}
	}
}

// started trains a step, whose first rank builds the indices, and then once more with the
// files out of the kernel's cache. Of that start it returns what each rank touched, and
// the bytes of data and indices that are in the cache after it: what was fetched for
// all ranks, through calls and through mapped memory.
func (f trainer) started(t *testing.T, c *cluster, nodes, documents int) (found []touched, fetched int) {
	t.Helper()
	t.Run(fmt.Sprintf("%dNodes%dDocuments", nodes, documents), func(t *testing.T) {
		traces := filepath.Join(here.Folder, "traces", t.Name())
		must(t, os.MkdirAll(traces, 0o755))
		f.environment["TRAINER_TRACES"] = traces
		f.variables = append(f.variables[:len(f.variables):len(f.variables)], "steps=1", fmt.Sprint("nodes=", nodes))
		s := f.prepare(t, c, "00:30:00", "1")
		s.program(t, "traced", "traced")
		s.program(t, "sitecustomize.py", "sitecustomize.py")
		must(t, os.Truncate(filepath.Join(s.folder, "counting.bin"), 2*corpusTokens)) // zeros follow
		s.write(t, "counting.idx", string(documentIndex(corpusTokens, documents)), 0o644)
		for range 2 {
			s.do(t, "cd %q && rm -rf checkpoints && IFS=$'\\n' && for file in $(ls counting.*; find out -name '*.npy'); do sync \"$file\"; dd if=\"$file\" iflag=nocache count=0 status=none; done", s.folder)
			s.submit(t, "")
			s.finishWithin(t, 2*patience)
		}
		s.expectStates(t, "COMPLETED COMPLETED")
		said := s.do(t, "cd %q && IFS=$'\\n' && fincore -b -n -r -o RES,FILE $(ls counting.*; find out -name '*.npy')", s.folder)
		for line := range strings.Lines(said) {
			fetched += number(strings.Fields(line)[0])
		}
		t.Logf("fetched %d bytes: %q", fetched, said)
		for rank := range nodes * gpusPerNode {
			m := s.traced(t, filepath.Join(traces, fmt.Sprint(rank)))
			found = append(found, m)
			t.Logf("rank %d: %+v", rank, m)
		}
	})
	if found == nil {
		t.FailNow()
	}
	return found, fetched
}

var (
	traceOpened = regexp.MustCompile(`openat\(.* = \d+<([^>]*)>`)
	traceRead   = regexp.MustCompile(`p?readv?(?:64)?\(\d+<([^>]*)>.* = (\d+)$`)
)

// traced sums up what strace wrote of a rank.
func (s *scenario) traced(t *testing.T, name string) touched {
	t.Helper()
	b, err := os.ReadFile(name)
	must(t, err)
	var m touched
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		if found := traceOpened.FindStringSubmatch(line); found != nil {
			m.opened++
			switch {
			case strings.HasSuffix(found[1], "/counting.bin"):
				m.documents++
			case strings.HasPrefix(found[1], s.folder):
				m.jobOpened++
			}
		} else if found := traceRead.FindStringSubmatch(line); found != nil && strings.HasPrefix(found[1], "/") && !strings.HasPrefix(found[1], "/proc/") {
			m.read += number(found[2])
			if strings.HasPrefix(found[1], s.folder) && !strings.HasSuffix(found[1], "/counting.bin") {
				m.jobRead += number(found[2])
			}
		}
	}
	return m
}

// documentIndex is Megatron-LM's index of so many equal documents: version, type (8 is
// uint16), sequences and ends of documents, the lengths and starts of sequences, and the
// documents' bounds.
func documentIndex(tokens, documents int) []byte {
	b := append([]byte("MMIDIDX\x00\x00"), 1, 0, 0, 0, 0, 0, 0, 0, 8)
	b = binary.LittleEndian.AppendUint64(b, uint64(documents))
	b = binary.LittleEndian.AppendUint64(b, uint64(documents+1))
	each := tokens / documents
	for range documents {
		b = binary.LittleEndian.AppendUint32(b, uint32(each))
	}
	for i := range documents {
		b = binary.LittleEndian.AppendUint64(b, uint64(2*each*i))
	}
	for i := range documents + 1 {
		b = binary.LittleEndian.AppendUint64(b, uint64(i))
	}
	return b
}
