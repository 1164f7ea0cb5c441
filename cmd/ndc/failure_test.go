package main

import (
	"strings"
	"testing"
)

// TestFirstFailure: after a failure the log ends with the rank that failed
// first: by the time of its error file, or as torchrun reports one that was
// killed. What other ranks raise later, and what stood in the log before, is not
// taken for it.
func TestFirstFailure(t *testing.T) {
	const raised = `folder=$NDC_RANK_LOGS/node-0/none_x/attempt_0/0
mkdir -p "$folder"
printf '{"message": {"message": "RuntimeError: no more %%s", "extraInfo": {"py_callstack": "x"}}}' >"$folder/error.json"
touch -d @1700000100 "$folder/error.json"
echo "the last line of the rank" >"$folder/stderr.log"
`
	const report = `printf '0:   %s\n' 'time      : 2023-11-14_22:1TIME' 'host      : node1' 'rank      : 0 (local_rank: 0)' 'exitcode  : -9 (pid: 7)' 'error_file: <N/A>'
`
	for _, c := range []struct{ name, ranks, want string }{
		{"raised", raised + "exit 1", "RuntimeError: no more %s\nndc: the last lines of "},
		{"killed", report + "exit 1", "ended with signal 9\n"},
		{"killed before another raised", raised + report + "exit 1", "ended with signal 9\nndc: the last lines of "},
		{"killed, and told of after another raised", raised + strings.Replace(report, "TIME", "5:02", 1) + "exit 1", "ended with signal 9\nndc: the last lines of "},
		{"killed later", raised + strings.Replace(report, "TIME", "6:00", 1) + "exit 1", "RuntimeError: no more %s\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, "deepspeed", "[]")
			s.write(t, "ranks", strings.ReplaceAll(c.ranks, "TIME", "3:20"))
			code, log := s.start(t, 100, []string{"TZ=UTC"})
			if code != 1 {
				t.Errorf("exit code %d", code)
			}
			mustHold(t, "the log", log, "ndc: rank 0 on node1 failed first, at 2023-11-14 22:1", c.want, "ndc: link 1 of chain 100")
		})
	}
}
