package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/review/record"
	"github.com/ndc-dev/ndc/view/explain"
)

// explainFlags are those of `ndc explain` alone.
type explainFlags struct {
	inputFlags
	format, flag string
	whatIf       []string
	stage        int
}

// topics are what can be explained, in the order of an explanation of all.
var topics = []string{"memory", "time", "layout", "communication", "sensitivity", "launch"}

// explainFormats are the forms of an explanation, the first being the default.
var explainFormats = []string{"text", "json", "markdown"}

func newExplain(stdout, stderr io.Writer) *cobra.Command {
	var flags explainFlags
	c := &cobra.Command{
		Use: "explain FILE|DIR [TOPIC]...", Short: "Explain the plans: where their numbers come from", Args: takes(1, 1+len(topics), "one FILE or DIR, and topics"),
		Long: `Plan as ndc plan does and say where the numbers come from. The topics are:

  memory         the ledger of a stage with its numbers put in, and all stages
  time           the parts of the step, each with its formula and measured error
  layout         what moving one axis at a time would do, and what stops it
  communication  bytes and time by group, collective and link; which algorithm, and why
  sensitivity    which fact of the hardware or model moves the step most
  launch         what the launch files say, and who said it

Without a topic: memory, time and communication. --flag NAME says where a word of
the launch files comes from, through modules, sites, defaults and the search.
--what-if PATH=VALUE says what a change of the job would do to the step, under the
layout as it is and under the best one; it may be repeated.`,
		ValidArgsFunction: behindFile(topics),
		RunE: func(c *cobra.Command, args []string) error {
			if err := jsonFormat(c, flags.json, &flags.format); err != nil {
				return err
			}
			asked, err := askedTopics(c, args[1:], &flags)
			if err != nil {
				return err
			}
			t := newTerminal(stdout, stderr, flags.format == "json")
			plans, err := planAll(t, args[0], &flags.inputFlags)
			if err != nil {
				return err
			}
			if !t.json {
				t.diagnostics(jobWarnings(plans.list), t.files)
			}
			x := explainer{plans: &plans, argument: args[0], flags: &flags}
			if err := x.possible(); err != nil {
				return err
			}
			for i, one := range feasible(plans.list) {
				d, err := x.document(t, one, asked)
				if err != nil {
					return err
				}
				if err := printExplanation(t, d, flags.format, i > 0); err != nil {
					return err
				}
			}
			return nil
		},
	}
	flags.register(c)
	c.Flags().StringVar(&flags.format, "format", explainFormats[0], "text, json or markdown")
	c.Flags().StringVar(&flags.flag, "flag", "", "where this word of the launch files comes from, such as micro-batch-size")
	c.Flags().StringArrayVar(&flags.whatIf, "what-if", nil, "what a change would do, as PATH=VALUE; may be repeated")
	c.Flags().IntVar(&flags.stage, "stage", -1, "the pipeline stage whose memory is taken apart (default: the busiest)")
	return c
}

// askedTopics checks the words of the command line.
func askedTopics(c *cobra.Command, words []string, flags *explainFlags) ([]string, error) {
	for _, w := range words {
		if !slices.Contains(topics, w) {
			return nil, wrongUsage(c, "A topic is %s, not %q.%s", diag.OneOf(topics), w, diag.DidYouMean(w, topics))
		}
	}
	if err := knownFormat(flags.format, explainFormats); err != nil {
		return nil, err
	}
	if len(words) == 0 && flags.flag == "" && len(flags.whatIf) == 0 {
		words = []string{"memory", "time", "communication"}
	}
	if c.Flags().Changed("stage") {
		switch {
		case flags.stage < 0:
			return nil, wrongUsage(c, "There is no stage %d; pipeline stages are counted from 0.", flags.stage)
		case !slices.Contains(words, "memory"):
			return nil, wrongUsage(c, "--stage is for the topic memory.")
		}
	}
	return words, nil
}

func feasible(list []*compiled) []*compiled {
	return slices.DeleteFunc(slices.Clone(list), func(c *compiled) bool { return !c.plan.Feasible })
}

func printExplanation(t *terminal, d *explain.Document, format string, further bool) error {
	if t.json {
		return t.printJSON(d)
	}
	text := d.Text()
	if format == "markdown" {
		text = d.Markdown()
	}
	if further {
		text = "\n" + text
	}
	return t.print(text)
}

// explainer writes documents about some plans.
type explainer struct {
	plans    *planned
	argument string
	flags    *explainFlags
}

// possible reports a stage that no plan has, and a word that no launch file has.
func (x *explainer) possible() error {
	stages, found := 0, x.flags.flag == ""
	var words []string
	for _, c := range feasible(x.plans.list) {
		stages = max(stages, len(c.plan.Memory.Stages))
		found = found || len(x.settings(c, x.flags.flag)) > 0
		words = append(words, c.launchWords()...)
	}
	switch {
	case stages > 0 && x.flags.stage >= stages:
		return usageError(fmt.Sprintf("--stage %d is none of the %s, which are counted from 0.", x.flags.stage, units.Count(stages, "pipeline stage")))
	case !found:
		return usageError(fmt.Sprintf("No launch file has the word %q.%s", x.flags.flag, diag.DidYouMean(x.flags.flag, words)))
	}
	return nil
}

// launchWord is an option, a key or a variable of a launch file.
var launchWord = regexp.MustCompile(`(?m)--([a-z][a-z0-9_-]+)|^\s*(?:export )?"?([A-Za-z_][A-Za-z0-9_]+)"?\s*[=:]`)

// launchWords are the options, keys and variables of the launch files.
func (c *compiled) launchWords() (words []string) {
	for _, a := range c.artifacts {
		if path.Base(a.Path) == planName {
			continue
		}
		for _, m := range launchWord.FindAllStringSubmatch(string(a.Content), -1) {
			if w := m[1] + m[2]; !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
	}
	return words
}

// document explains one plan.
func (x *explainer) document(t *terminal, c *compiled, asked []string) (*explain.Document, error) {
	p, detail := c.plan, compiler.NewDetail(c.job, c.target, c.plan)
	d := &explain.Document{Title: fmt.Sprintf("%s on %s %s", c.job.Folder, p.Backend, p.BackendVersion)}
	for _, topic := range asked {
		switch topic {
		case "memory":
			stage := x.flags.stage
			if stage < 0 || stage >= len(p.Memory.Stages) { // of another plan
				stage = p.Memory.Peak.Stage
			}
			d.Sections = append(d.Sections, explain.Memory(p, stage, detail.MemoryTerms(stage)))
		case "time":
			d.Sections = append(d.Sections, explain.Time(p, detail.TimeTerms()))
		case "layout":
			neighbours, err := detail.Neighbours(signals.context())
			if err != nil {
				signals.wait()
			}
			d.Sections = append(d.Sections, explain.Layout(p, neighbours))
		case "communication":
			d.Sections = append(d.Sections, explain.Communication(p, detail.Routes(), detail.Kinds(), detail.Averaging()))
		case "sensitivity":
			d.Sections = append(d.Sections, explain.Sensitivity(p, detail.Sensitivity()))
		case "launch":
			d.Sections = append(d.Sections, explain.Launch(fileNames(c), x.settings(c, "")))
		}
	}
	if x.flags.flag != "" {
		d.Sections = append(d.Sections, x.flagSection(c))
	}
	if len(x.flags.whatIf) > 0 {
		s, err := x.whatIf(t, c)
		if err != nil {
			return nil, err
		}
		d.Sections = append(d.Sections, s)
	}
	return d, nil
}

func fileNames(c *compiled) []string {
	var names []string
	for _, a := range c.artifacts {
		names = append(names, a.Path)
	}
	return names
}

// flagSection is about the lines that have a word.
func (x *explainer) flagSection(c *compiled) explain.Section {
	s := explain.Launch(fileNames(c), x.settings(c, x.flags.flag))
	s.Title = "Where " + x.flags.flag + " comes from"
	if s.Lines = nil; len(s.Tables[0].Rows) == 0 {
		s.Lines, s.Tables = []string{"No launch file has such a word."}, nil
	}
	return s
}

// sourced is how a generated line ends that says where its value comes from.
var sourced = func() *regexp.Regexp {
	words := []string{"plan"}
	for o := job.FromDefault; o <= job.FromTrial; o++ {
		words = append(words, o.String())
	}
	return regexp.MustCompile(`^(.*?)\s+# (` + strings.Join(words, "|") + `): ([a-z_0-9.]+)\b`)
}()

// settings lists the lines of the launch files that say where they come from, or all
// those with a word.
func (x *explainer) settings(c *compiled, word string) []explain.Setting {
	values := record.Of(c.job, c.plan, x.plans.place)
	plain := func(s string) string { return strings.ReplaceAll(strings.TrimLeft(s, "-"), "_", "-") }
	var list []explain.Setting
	for _, a := range c.artifacts {
		if path.Base(a.Path) == planName {
			continue
		}
		lines := bufio.NewScanner(bytes.NewReader(a.Content))
		for n := 1; lines.Scan(); n++ {
			text := strings.TrimSpace(lines.Text())
			found := sourced.FindStringSubmatch(text)
			if word != "" && !strings.Contains(plain(text), plain(word)) || word == "" && found == nil {
				continue
			}
			s := explain.Setting{File: a.Path, Line: n, Text: text}
			if found != nil {
				s.Text, s.Path = found[1], found[3]
				s.Origin = origin(values, s.Path)
			}
			list = append(list, s)
		}
	}
	return list
}

// origin is who chose the value of a path, or of the first one below it.
func origin(values []record.Value, path string) string {
	for _, v := range values {
		if v.Path == path || strings.HasPrefix(v.Path, path+".") {
			return v.Origin
		}
	}
	return ""
}

// whatIf plans the job with each change.
func (x *explainer) whatIf(t *terminal, c *compiled) (explain.Section, error) {
	var list []explain.Changed
	for _, text := range x.flags.whatIf {
		with := x.flags.inputFlags
		with.overrides = lang.ParseOverrides("--what-if", text)
		plans, w, diags := plansOf(disk{}, x.argument, &with)
		if diags.HasErrors() {
			t.diagnostics(diags, w.Files)
			return explain.Section{}, exitError(exitInput)
		}
		i := slices.IndexFunc(plans.list, func(other *compiled) bool { return other.folder() == c.folder() })
		if i < 0 {
			return explain.Section{}, usageError(fmt.Sprintf("With --what-if %s there is no plan of %s to compare.", text, c.folder()))
		}
		changed := explain.Changed{Change: text, Best: plans.list[i].plan}
		if then := plans.list[i]; then.target != nil {
			var err error
			if changed.Kept, err = compiler.NewDetail(then.job, then.target, c.plan).Held(signals.context()); err != nil {
				signals.wait()
			}
		}
		list = append(list, changed)
	}
	return explain.WhatIf(c.plan, list), nil
}
