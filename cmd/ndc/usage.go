package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ndc-dev/ndc/diag"
)

// usageError says how a command line is wrong.
type usageError string

func (e usageError) Error() string { return string(e) }

func wrongUsage(c *cobra.Command, format string, args ...any) error {
	return usageError(fmt.Sprintf(format, args...) + " Run: " + c.CommandPath() + " --help")
}

// takes accepts a number of arguments; what names them.
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return wrongUsage(c, "%s takes %s; there are %d arguments.", c.CommandPath(), what, len(args))
		}
		if slices.Contains(args, "-") {
			return wrongUsage(c, "%s reads no standard input, as ndc fmt alone does; a file of the name - is ./-.", c.CommandPath())
		}
		return noneEmpty(c, args)
	}
}

// noneEmpty refuses empty arguments, which are what a shell makes of a variable that is
// not set: as a path they would be the working directory.
func noneEmpty(c *cobra.Command, args []string) error {
	for i, a := range args {
		if a == "" {
			return wrongUsage(c, "Argument %d of %s is empty.", i+1, c.CommandPath())
		}
	}
	return nil
}

// wellFormed refuses flags that mean nothing, or nothing together.
func wellFormed(c *cobra.Command, _ []string) error {
	if err := filled(c); err != nil {
		return err
	}
	if c.ValidateFlagGroups() == nil {
		return nil
	}
	var names []string
	c.Flags().Visit(func(f *pflag.Flag) {
		if len(f.Annotations) > 0 {
			names = append(names, "--"+f.Name)
		}
	})
	return wrongUsage(c, "%s exclude one another.", strings.Join(names, " and "))
}

// knownFormat refuses a --format that a command does not have.
func knownFormat(format string, known []string) error {
	if slices.Contains(known, format) {
		return nil
	}
	return usageError(fmt.Sprintf("There is no format %q; they are %s.%s", format, diag.OneOf(known), diag.DidYouMean(format, known)))
}

// jsonFormat makes --json mean --format json, and refuses another format beside it.
func jsonFormat(c *cobra.Command, asJSON bool, format *string) error {
	switch {
	case !asJSON:
		return nil
	case c.Flags().Changed("format") && *format != "json":
		return wrongUsage(c, "--json is --format json, and --format says %q.", *format)
	}
	*format = "json"
	return nil
}

// filled refuses flags that are given and empty, for the same reason: they would be
// as if they were not given.
func filled(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && f.Value.Type() == "string" && f.Value.String() == "" {
			err = wrongUsage(c, "--%s is empty. It takes: %s.", f.Name, f.Usage)
		}
	})
	return err
}

// noCommand shows the help, or reports a first word that is no command.
func noCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return wrongUsage(c, "There is no command %q.%s", args[0], diag.DidYouMean(args[0], names))
}

// knownCommands makes the library's own commands, help and completion, report words
// that are no command; they would show a help and succeed.
func knownCommands(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			c.Args, c.RunE = cobra.ArbitraryArgs, noCommand
		case "help":
			show := c.Run
			c.Run, c.RunE = nil, func(c *cobra.Command, args []string) error {
				if to, rest, err := root.Find(args); err == nil && len(rest) > 0 {
					return noCommand(to, rest)
				}
				show(c, args)
				return nil
			}
		}
	}
}

// twoDashes gives flags that are written as Terraform's are, such as -json and
// -var=k=v, their second dash. What is the value of another flag stays as it is.
func twoDashes(root *cobra.Command, args []string) []string {
	c, _, err := root.Find(args)
	if err != nil {
		return args
	}
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	args = slices.Clone(args)
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		word, ok := strings.CutPrefix(args[i], "-")
		if !ok {
			continue
		}
		long := strings.TrimPrefix(word, "-")
		name, _, hasValue := strings.Cut(long, "=")
		f := c.Flags().Lookup(name)
		if len(name) == 1 && long == word {
			f = c.Flags().ShorthandLookup(name)
		}
		if f == nil {
			continue
		}
		if len(name) > 1 && long == word {
			args[i] = "-" + args[i]
		}
		if !hasValue && f.NoOptDefVal == "" {
			i++ // its value
		}
	}
	return args
}

// kinds are what flags take, by the library's name for it.
var kinds = map[string]string{"int": "a whole number", "float64": "a number", "bool": "true or false"}

// wrongFlag reports a flag that does not exist or that has a wrong value.
func wrongFlag(c *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && kinds[invalid.GetFlag().Value.Type()] != "" {
		f := invalid.GetFlag()
		return wrongUsage(c, "--%s takes %s, not %q.", f.Name, kinds[f.Value.Type()], invalid.GetValue())
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return wrongUsage(c, "%v.", err)
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	dashes := "--"
	if unknown.GetSpecifiedShortnames() != "" {
		dashes = "-"
	}
	name := dashes + unknown.GetSpecifiedName()
	return wrongUsage(c, "%s has no flag %s.%s", c.CommandPath(), name, diag.DidYouMean(name, names))
}
