package megatron

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing/fstest"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// interpret does what record does without starting a shell, for suites of
// thousands of launches: the same scripts, run by an interpreter in this process,
// for which every command succeeds and torchrun is the last.
func interpret(l Launch) (recorded, error) {
	c := recorded{ID: l.Name, World: l.Nodes * l.PerNode, Environment: map[string]string{}}
	if _, err := fmt.Sscanf(l.Capability, "%d.%d", &c.Capability[0], &c.Capability[1]); err != nil {
		return c, fmt.Errorf("%s: capability %q: %w", l.Name, l.Capability, err)
	}
	script, err := syntax.NewParser().Parse(bytes.NewReader(l.Files["launch.sh"]), "launch.sh")
	if err != nil {
		return c, err
	}
	const folder = "/"
	env := expand.ListEnviron("PATH=/bin", "HOME="+folder, "USER=ndc", "BASH_SOURCE=launch.sh", "NDC_DIR="+folder, "NDC_NODES="+strconv.Itoa(l.Nodes),
		"NDC_GPUS_PER_NODE="+strconv.Itoa(l.PerNode), "MEGATRON_PATH="+folder)
	runner, err := interp.New(interp.Env(env), interp.StdIO(nil, io.Discard, io.Discard),
		interp.OpenHandler(func(_ context.Context, path string, _ int, _ os.FileMode) (io.ReadWriteCloser, error) {
			return file{bytes.NewReader(l.Files[strings.Trim(path, folder)])}, nil
		}),
		interp.StatHandler(func(_ context.Context, path string, _ bool) (fs.FileInfo, error) {
			if path == folder {
				return os.Stat(folder)
			}
			return fstest.MapFS{"file": {}}.Stat("file")
		}),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc {
			return func(ctx context.Context, args []string) error {
				switch args[0] {
				case "torchrun":
					c.take(args[1:], interp.HandlerCtx(ctx).Env)
				case "dirname":
					fmt.Fprintln(interp.HandlerCtx(ctx).Stdout, folder)
				}
				return nil
			}
		}))
	if err != nil {
		return c, err
	}
	if err := runner.Run(context.Background(), script); err != nil {
		return c, fmt.Errorf("%s: launch.sh: %w", l.Name, err)
	}
	if c.Arguments == nil {
		return c, errors.New(l.Name + ": launch.sh starts no torchrun")
	}
	return c, nil
}

// take keeps what torchrun is given.
func (c *recorded) take(words []string, env expand.Environ) {
	c.program(words)
	env.Each(func(name string, v expand.Variable) bool {
		if v.Exported {
			c.variable(name, v.String())
		}
		return true
	})
}

// file is one whose changes are lost.
type file struct{ *bytes.Reader }

func (file) Write(b []byte) (int, error) { return len(b), nil }
func (file) Close() error                { return nil }
