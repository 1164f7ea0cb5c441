package megatron

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// interpret does what record does without starting a shell, for suites of
// thousands of launches: it runs environment.sh and the arguments of launch.sh by
// an interpreter in this process, and nothing else of the two.
func interpret(l Launch) (recorded, error) {
	c := recorded{ID: l.Name, World: l.Nodes * l.PerNode, Environment: map[string]string{}}
	if _, err := fmt.Sscanf(l.Capability, "%d.%d", &c.Capability[0], &c.Capability[1]); err != nil {
		return c, fmt.Errorf("%s: capability %q: %w", l.Name, l.Capability, err)
	}
	script, err := arguments(l.Files["launch.sh"])
	if err != nil {
		return c, fmt.Errorf("%s: %w", l.Name, err)
	}
	program, err := syntax.NewParser().Parse(io.MultiReader(bytes.NewReader(l.Files["environment.sh"]), script), l.Name)
	if err != nil {
		return c, err
	}
	env := expand.ListEnviron("HOME=/", "USER=ndc", "NDC_DIR=/", "NDC_JOB_DIR=/", "NDC_LOG_DIR=/logs",
		"NDC_NODES="+strconv.Itoa(l.Nodes), "NDC_GPUS_PER_NODE="+strconv.Itoa(l.PerNode))
	runner, err := interp.New(interp.Env(env), interp.StdIO(nil, io.Discard, io.Discard),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc {
			return func(ctx context.Context, args []string) error {
				if args[0] == "torchrun" {
					c.take(args, interp.HandlerCtx(ctx).Env)
				}
				return nil
			}
		}))
	if err != nil {
		return c, err
	}
	if err := runner.Run(context.Background(), program); err != nil {
		return c, fmt.Errorf("%s: %w", l.Name, err)
	}
	return c, nil
}

// arguments is a script that starts torchrun with the arguments of launch.sh.
func arguments(launch []byte) (io.Reader, error) {
	script, err := syntax.NewParser().Parse(bytes.NewReader(launch), "launch.sh")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	syntax.Walk(script, func(n syntax.Node) bool {
		if a, ok := n.(*syntax.Assign); ok && a.Name != nil && a.Name.Value == "arguments" {
			b.WriteString("\n")
			b.Write(launch[a.Pos().Offset():a.End().Offset()])
		}
		return true
	})
	if b.Len() == 0 {
		return nil, errors.New("launch.sh has no arguments")
	}
	b.WriteString("\ntorchrun pretrain_gpt.py \"${arguments[@]}\"\n")
	return &b, nil
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
