// Command record asks the installed frameworks about the cases of a file of
// testdata/oracle and writes their answers into it.
//
//	go run ./integration/oracle/record [-again] testdata/oracle/torchtitan.jsonl
//
// Cases that have answers are left alone, unless all are asked again.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ndc-dev/ndc/integration/oracle"
)

func main() {
	again := flag.Bool("again", false, "ask about cases that have answers, too")
	flag.Parse()
	for _, name := range flag.Args() {
		if err := record(name, *again); err != nil {
			fmt.Fprintln(os.Stderr, "record:", err)
			os.Exit(1)
		}
	}
}

func record(name string, again bool) error {
	switch base := filepath.Base(name); {
	case strings.HasPrefix(base, "torchtitan"):
		return fill(name, again, oracle.AskTorchTitan)
	case strings.HasPrefix(base, "deepspeed"):
		return fill(name, again, oracle.AskDeepSpeed)
	case strings.HasPrefix(base, "megatron"):
		return fill(name, again, oracle.AskMegatron)
	}
	return fmt.Errorf("%s: not a file of answers", name)
}

// portion is how many cases are asked at once: what is known is written after
// each.
const portion = 4

// fill asks about the cases of a file, version by version.
func fill[A any](name string, again bool, ask func([]*oracle.Case[A], string, string) error) error {
	cases, err := oracle.Read[A](name)
	if err != nil {
		return err
	}
	versions := map[string][]*oracle.Case[A]{}
	for i := range cases {
		if c := &cases[i]; again || len(c.Answers) == 0 {
			versions[c.Version] = append(versions[c.Version], c)
		}
	}
	var failed error
	for _, list := range versions {
		for len(list) > 0 {
			n := min(portion, len(list))
			if err := portionOf(list[:n], ask); err != nil {
				fmt.Fprintln(os.Stderr, err)
				failed = cmp.Or(failed, err)
			}
			if err := oracle.Write(name, cases); err != nil {
				return err
			}
			list = list[n:]
		}
	}
	return failed
}

func portionOf[A any](list []*oracle.Case[A], ask func([]*oracle.Case[A], string, string) error) error {
	scratch, err := os.MkdirTemp("", "oracle")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	return ask(list, ".", scratch)
}
