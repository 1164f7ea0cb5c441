package main

import (
	"os/exec"
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

// TestFirstOfMany: where thousands of ranks fail at once, none of them takes
// processes of its own.
func TestFirstOfMany(t *testing.T) {
	s := newSite(t, "deepspeed", "[]")
	for _, name := range []string{"date", "sed", "cut"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		s.write(t, "bin/"+name, "#!/bin/bash\necho "+name+` >>"$FAKE/called"`+"\nexec "+path+` "$@"`+"\n")
	}
	s.write(t, "ranks", `for ((r = 0; r < 500; r++)); do
  folder=$NDC_RANK_LOGS/node-$r/none_x/attempt_0/0
  mkdir -p "$folder"
  printf '{"message": {"message": "RuntimeError: the peers of rank 7 are gone", "extraInfo": {"py_callstack": "x"}}}' >"$folder/error.json"
  touch -d @$((1700000102 + r / 400)) "$folder/error.json"
  printf '%3s:   %s\n' "$r" "time      : 2023-11-14_22:15:0$((1 + r % 3))" "$r" 'host      : node1' "$r" "rank      : $r (local_rank: 0)" "$r" 'exitcode  : -6 (pid: 7)' "$r" 'error_file: <N/A>'
done
printf '%3s:   %s\n' 7 'time      : 2023-11-14_22:15:03' 7 'host      : node1' 7 'rank      : 7 (local_rank: 0)' 7 'exitcode  : -9 (pid: 7)' 7 'error_file: <N/A>'
exit 1
`)
	code, log := s.start(t, 100, []string{"TZ=UTC"})
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	mustHold(t, "the log", log, "ndc: rank 7 on node1 failed first, at 2023-11-14 22:15:03: ended with signal 9\n")
	if n := strings.Count(s.read("called"), "\n"); n > 50 {
		t.Errorf("%d calls of date, sed and cut for 500 ranks", n)
	}
}
