package lsp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/creachadair/jrpc2"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/outline"
	"github.com/ndc-dev/ndc/lang/schema"
	"github.com/ndc-dev/ndc/view"
)

// lens is the place of one prediction: the block of a job.
type lens struct {
	span      outline.Span
	key, name string
}

// prediction is the plan of one job on one backend: what it was asked with, and
// the answer once there is one.
type prediction struct {
	make  func(context.Context) (*plan.Plan, error)
	title string // "" before
}

// codeContentModified is the protocol's error for answers that a change has
// overtaken.
const codeContentModified jrpc2.Code = -32801

// maxPlans is how many predictions are kept.
const maxPlans = 500

// maxInstances is how many jobs of one block have a lens.
const maxInstances = 4

// addLenses notes the predictions that can be asked for in a root without errors.
func (l *looker) addLenses(root string, w *lang.Workspace) {
	locked := l.lockOf(root)
	shown := map[*outline.Block]int{}
	for i := range w.Jobs {
		j := &w.Jobs[i]
		file, block := l.blockOf(root, j.Name)
		if block == nil || l.generation.documents[file] == nil {
			continue
		}
		if shown[block]++; shown[block] > maxInstances*len(schema.BackendKinds()) {
			continue
		}
		name := j.Backend.Kind
		if j.Name != block.Label() {
			name = j.Name + " on " + name
		}
		if j.Site != "" {
			name += " at " + j.Site
		}
		key := digest(j, locked)
		l.generation.lenses[file] = append(l.generation.lenses[file], lens{outline.Span{Start: block.Type.Span.Start, End: block.Type.Span.End}, key, name})
		l.remember(key, func(ctx context.Context) (*plan.Plan, error) { return l.Program.Plan(ctx, l.files, root, w, i) })
	}
}

// remember keeps how a prediction is made, unless its answer is known.
func (s *server) remember(key string, predict func(context.Context) (*plan.Plan, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.plans[key]; p != nil && p.title != "" {
		return
	}
	if len(s.plans) >= maxPlans {
		clear(s.plans)
	}
	s.plans[key] = &prediction{make: predict}
}

// lockOf is a hash of the lock beside a root, on which choices depend: the text is
// long where there are many jobs, each of which would hash it.
func (l *looker) lockOf(root string) string {
	folder := root
	if strings.HasSuffix(root, ".hcl") {
		folder = path.Dir(root)
	}
	b, _ := lang.ReadFile(l.files, path.Join(folder, lang.LockFile))
	sum := sha256.Sum256(b)
	return string(sum[:])
}

// digest tells jobs apart by what their plans depend on.
func digest(j *job.Job, locked string) string {
	bare := *j
	bare.Sources = nil
	b, err := json.Marshal(bare)
	if err != nil {
		panic("lsp: a job that JSON cannot hold: " + err.Error())
	}
	sum := sha256.Sum256(append(b, locked+j.Site...))
	return hex.EncodeToString(sum[:])
}

// blockOf finds the block that a job is made of: the one with its name, or the
// one of which it is an element.
func (l *looker) blockOf(root, name string) (file string, block *outline.Block) {
	for _, f := range l.folder(root) {
		for _, b := range f.outline.Blocks {
			label := b.Label()
			switch {
			case b.Type.Text != "job":
			case label == name:
				return f.path, b
			case strings.HasPrefix(name, label+"-") && (block == nil || len(label) > len(block.Label())) && (b.Argument("for_each") != nil || b.Argument("count") != nil):
				file, block = f.path, b
			}
		}
	}
	return file, block
}

// lenses answers with the places of predictions, as soon as the files as they
// are now were looked at.
func (s *server) lenses(ctx context.Context, p *documentParams) ([]codeLens, error) {
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	g, err := s.settled(ctx)
	if err != nil {
		return nil, err
	}
	if now := g.documents[d.path]; now != nil {
		d = now
	}
	list := []codeLens{}
	for _, found := range g.lenses[d.path] {
		list = append(list, codeLens{Range: d.text.span(found.span), Data: &lensData{found.key, found.name}})
	}
	return list, nil
}

// settled waits for the newest generation.
func (s *server) settled(ctx context.Context) (*generation, error) {
	for {
		s.mu.Lock()
		g := s.current
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-g.done:
		}
		s.mu.Lock()
		newest := s.current == g
		s.mu.Unlock()
		if newest {
			return g, nil
		}
	}
}

// resolve predicts. A change of any document ends it.
func (s *server) resolve(ctx context.Context, l *codeLens) (*codeLens, error) {
	if l.Data == nil {
		return l, nil
	}
	title, err := s.predict(ctx, l.Data.Key)
	if err != nil {
		return nil, jrpc2.Errorf(codeContentModified, "the file has changed")
	}
	return &codeLens{Range: l.Range, Command: &command{Title: l.Data.Name + ": " + title}}, nil
}

// predict answers with the figures of a job, one job after the other.
func (s *server) predict(ctx context.Context, key string) (string, error) {
	s.mu.Lock()
	p, g := s.plans[key], s.current
	if p == nil || p.title != "" {
		defer s.mu.Unlock()
		if p == nil {
			return "", context.Canceled
		}
		return p.title, nil
	}
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.context, cancel)()
	s.planning.Lock()
	defer s.planning.Unlock()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if title := s.known(key); title != "" {
		return title, nil
	}
	made, err := p.make(ctx)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.title = figures(made)
	return p.title, nil
}

// known is what another request found meanwhile.
func (s *server) known(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.plans[key]; p != nil {
		return p.title
	}
	return ""
}

// figures is a plan on a line.
func figures(p *plan.Plan) string {
	switch {
	case p == nil:
		return "no plan; ndc plan says why"
	case p.Feasible:
		return fmt.Sprintf("%s per step, %s of %s, MFU %.1f %%", view.Duration(p.Time.StepSeconds), view.GiB(p.Memory.Peak.DeviceBytes), view.GiB(p.Memory.UsableBytes), 100*p.Throughput.MFU)
	case p.Infeasible != nil && len(p.Infeasible.Reasons) > 0:
		return "does not fit: " + p.Infeasible.Reasons[0].Summary
	}
	return "does not fit"
}
