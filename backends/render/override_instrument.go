package render

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
)

// instrument makes a template pay for its work and pass what it prints through
// out.
func (o *override) instrument(t *template.Template) error {
	for _, other := range t.Templates() {
		if other.Name() != templateName {
			return &OverrideError{Problem: fmt.Sprintf("it defines another template, %q, and a part of a script is one template", other.Name())}
		}
	}
	if t.Tree == nil || t.Root == nil {
		return nil
	}
	helper := template.Must(template.New("helper").Funcs(o.functions()).Parse("{{" + stepFunction + " 1}}{{. | " + outFunction + " 1}}"))
	i := instrument{tree: t.Tree, step: helper.Root.Nodes[0].(*parse.ActionNode), out: helper.Root.Nodes[1].(*parse.ActionNode).Pipe.Cmds[1]}
	return i.list(t.Root, false)
}

type instrument struct {
	tree *parse.Tree
	step *parse.ActionNode
	out  *parse.CommandNode
}

func (i *instrument) fail(n parse.Node, format string, args ...any) error {
	return &OverrideError{Line: i.line(n), Problem: fmt.Sprintf(format, args...)}
}

// line is where a node stands in the template.
func (i *instrument) line(n parse.Node) int {
	place, _ := i.tree.ErrorContext(n)
	parts := strings.Split(place, ":")
	line, _ := strconv.Atoi(parts[min(1, len(parts)-1)])
	return line
}

// numbered is the call of one of ndc's own functions with a number.
func numbered(c *parse.CommandNode, n int) *parse.CommandNode {
	c = c.Copy().(*parse.CommandNode)
	number := c.Args[1].(*parse.NumberNode)
	number.Int64, number.Text = int64(n), strconv.Itoa(n)
	return c
}

// list instruments the nodes of a list, which pays for them each time that a
// loop comes by.
func (i *instrument) list(l *parse.ListNode, loop bool) error {
	if l == nil {
		return nil
	}
	for _, n := range l.Nodes {
		if err := i.node(n); err != nil {
			return err
		}
	}
	if loop {
		pay := i.step.Copy().(*parse.ActionNode)
		pay.Pipe.Cmds[0] = numbered(pay.Pipe.Cmds[0], 1+count(l))
		l.Nodes = append([]parse.Node{pay}, l.Nodes...)
	}
	return nil
}

func (i *instrument) node(n parse.Node) error {
	switch n := n.(type) {
	case *parse.ActionNode:
		if err := i.pipe(n.Pipe); err != nil {
			return err
		}
		if len(n.Pipe.Decl) == 0 {
			n.Pipe.Cmds = append(n.Pipe.Cmds, numbered(i.out, i.line(n)))
		}
	case *parse.IfNode:
		return i.branch(&n.BranchNode, false)
	case *parse.WithNode:
		return i.branch(&n.BranchNode, false)
	case *parse.RangeNode:
		return i.branch(&n.BranchNode, true)
	case *parse.TemplateNode:
		return i.fail(n, "it calls another template, %q, and a part of a script is one template", n.Name)
	}
	return nil
}

func (i *instrument) branch(b *parse.BranchNode, loop bool) error {
	return errors.Join(i.pipe(b.Pipe), i.list(b.List, loop), i.list(b.ElseList, false))
}

// pipe refuses functions that are not for users.
func (i *instrument) pipe(p *parse.PipeNode) error {
	if p == nil {
		return nil
	}
	for _, c := range p.Cmds {
		for _, a := range c.Args {
			var err error
			switch a := a.(type) {
			case *parse.IdentifierNode:
				if !slices.Contains(overrideFunctions(), a.Ident) {
					err = i.fail(a, "there is no function %q; there are %s", a.Ident, strings.Join(overrideFunctions(), ", "))
				}
			case *parse.PipeNode:
				err = i.pipe(a)
			case *parse.ChainNode:
				if inner, ok := a.Node.(*parse.PipeNode); ok {
					err = i.pipe(inner)
				}
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// count is how many nodes are in a list and below.
func count(l *parse.ListNode) int {
	if l == nil {
		return 0
	}
	n := len(l.Nodes)
	for _, node := range l.Nodes {
		switch node := node.(type) {
		case *parse.ActionNode:
			n += len(node.String()) / 16
		case *parse.IfNode:
			n += count(node.List) + count(node.ElseList)
		case *parse.WithNode:
			n += count(node.List) + count(node.ElseList)
		case *parse.RangeNode:
			n += count(node.ElseList)
		}
	}
	return n
}
