// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// isShared reports whether a conversion keeps what others have stored for it.
func (o *Options) isShared() bool { return o.Resume || o.Share != nil }

// inShare reports whether this call stores a value of an array.
func (c *conversion) inShare(m *member, name string) bool {
	s := c.opt.Share
	return s == nil || copying.InShare(strings.TrimPrefix(m.Path+"/"+name, "/"), s.Task, s.Of)
}

// resumption publishes what earlier calls have stored, or stores a part of it.
type resumption struct {
	pair    *copying.Copy
	opt     *Options
	survey  *survey
	foreign bool // nothing that the destination has counts
}

// resumable returns the state of the destination, and whether an unfinished conversion
// of the same node to the same format has left it.
func (r *resumption) resumable(ctx context.Context) (is copying.State, ours bool, err error) {
	for _, s := range [...]store.Store{r.pair.Source.Store, r.pair.Target.Store} {
		if _, ok := store.As[store.Lister](s); !ok {
			return is, false, fmt.Errorf("%w: a conversion in parts, or one that continues, needs stores that can be listed", zarr.ErrUnsupported)
		}
	}
	is, ours, err = r.lookForNote(ctx)
	if err != nil || is == copying.Published {
		return is, false, err
	}
	if is == copying.Unknown {
		return is, false, copying.ErrUnknown
	}
	if is == copying.Begun && !ours && r.opt.Share != nil {
		return is, false, copying.ErrForeign
	}
	if err = r.pair.CheckParents(ctx); err == nil && ours {
		err = r.pair.CheckNoLinks(ctx)
	}
	return is, ours, err
}

// lookForNote returns the state of the destination, and whether the note is that of this
// conversion. If the note is gone at that moment, another process has published.
func (r *resumption) lookForNote(ctx context.Context) (is copying.State, ours bool, err error) {
	for range 3 {
		if is, err = r.pair.Look(ctx); err != nil || is != copying.Begun {
			return is, false, err
		}
		if ours, err = r.pair.HasNote(ctx); !errors.Is(err, fs.ErrNotExist) {
			return is, ours, err
		}
	}
	return is, false, err
}

// begin prepares the destination. A part only stores the note, and what its values mean.
func (r *resumption) begin(ctx context.Context, ours bool) (err error) {
	switch {
	case r.pair.DryRun:
	case r.opt.Share != nil && !ours:
		err = r.pair.StorePartNote(ctx, r.pair.CheckUnpublished)
	case r.opt.Share == nil:
		err = r.beginAlone(ctx, ours)
	}
	if err != nil {
		return err
	}
	return r.checkMeanings(ctx)
}

func (r *resumption) beginAlone(ctx context.Context, ours bool) error {
	// Values of another copy may have the keys of this one. None can be trusted.
	if r.foreign {
		r.foreign = false
		if err := r.pair.Clear(ctx); err != nil {
			return err
		}
	}
	if err := r.pair.MakeParents(ctx); err != nil {
		return err
	}
	if !ours {
		return r.pair.StoreNote(ctx)
	}
	// Documents first, as clear does it.
	for _, documents := range [...]bool{true, false} {
		if err := r.sweep(ctx, documents); err != nil {
			return err
		}
	}
	return nil
}

// sweep deletes what the new documents do not describe: either documents, or the rest.
// Documents that stay are those of another call that publishes the same.
func (r *resumption) sweep(ctx context.Context, documents bool) error {
	want, err := r.wanted()
	if err != nil {
		return err
	}
	targets := r.survey.targets()
	var failed error
	err = r.pair.ClearWhere(ctx, func(name string) bool {
		if name == copying.NoteName || strings.HasPrefix(name, meaningDir) || copying.IsDocument(name) != documents {
			return false
		}
		if !documents {
			return !targets.describe(name)
		}
		raw, err := r.readTarget(ctx, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = err
		}
		return err == nil && !publish.Same(raw, want[name])
	})
	return errors.Join(err, failed)
}

// readTarget reads a document of the destination.
func (r *resumption) readTarget(ctx context.Context, name string) ([]byte, error) {
	return copying.ReadDocument(ctx, r.pair.Target.Store, r.pair.Target.Path.MustKey(name), r.pair.Limits)
}

// wanted returns the documents that the conversion writes, by their keys below the node.
func (r *resumption) wanted() (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, m := range r.survey.members {
		list, err := m.documents()
		if err != nil {
			return nil, err
		}
		for _, t := range list {
			all[path.Join(m.Path, t.name)] = t.bytes
		}
	}
	return all, nil
}

// finish ends a call that finds a node at the destination. If it is what this conversion
// makes, there is nothing left to do but what a crash has left undone.
func (r *resumption) finish(ctx context.Context) error {
	if r.opt.Share == nil && !r.pair.DryRun {
		if err := r.tidy(ctx); err != nil {
			return err
		}
	}
	want, err := r.wanted()
	if err != nil {
		return err
	}
	for name, text := range want {
		raw, err := r.readTarget(ctx, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err != nil || !publish.Same(raw, text) && !likeness.Same(raw, text) {
			return fmt.Errorf("the destination is a node already, and not what this conversion makes; "+remedy.Overwrite+" replaces it, or choose another name: %w", fs.ErrExist)
		}
	}
	return nil
}

// tidy does what a crash after the publication has left undone.
func (r *resumption) tidy(ctx context.Context) error {
	ours, err := r.pair.HasNote(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// A crash after the note was deleted, or a late part, has left these.
		return r.deleteMeanings(ctx, func(string) bool { return true })
	case err != nil || !ours:
		return err
	}
	return errors.Join(r.deleteNotes(ctx), copying.UpdateAbove(ctx, r.pair.Target.Location, r.pair.Options.Options))
}

// deleteNotes deletes the note, and before it what is known about values.
func (r *resumption) deleteNotes(ctx context.Context) error {
	if r.opt.isShared() {
		if err := r.deleteMeanings(ctx, func(string) bool { return true }); err != nil {
			return err
		}
	}
	return r.pair.DeleteNote(ctx)
}

// meaningDir is where an unfinished conversion keeps what the values of arrays mean, one
// object for each state of the documents of an array. Times do not tell this: the chunks
// of another grid may have been staged long before their document was published, and the
// chunks of the new format may depend on the shape of the source.
const meaningDir = own.Dir + "/converting/"

// meaning is a state of the documents of an array.
type meaning struct {
	Path   string    `json:"path"` // below the node
	Source paragraph `json:"source"`
	Result paragraph `json:"result"`

	of *member
}

// paragraph has the documents of an array in one format.
type paragraph struct {
	Name       string `json:"name"`
	Document   []byte `json:"document"`
	Attributes []byte `json:"attributes,omitempty"`
}

func (p *paragraph) layout() copying.Layout {
	return copying.LayoutOf(p.Name, p.Document, p.Attributes)
}

func paragraphOf(n metadata.Node) (p paragraph, err error) {
	list, err := documentsOf(n)
	for _, t := range list {
		if t.name == nodename.V2Attributes {
			p.Attributes = t.bytes
		} else {
			p.Name, p.Document = t.name, t.bytes
		}
	}
	return p, err
}

func meaningOf(m *member) (*meaning, error) {
	from, err := paragraphOf(m.node)
	if err != nil {
		return nil, err
	}
	to, err := paragraphOf(m.result)
	return &meaning{m.Path, from, to, m}, err
}

// agrees reports whether values that were stored for one state serve for the other one,
// by their keys.
func (n *meaning) agrees(o *meaning) bool {
	for _, pair := range [...][2]*paragraph{{&n.Source, &o.Source}, {&n.Result, &o.Result}} {
		a, b := pair[0].layout(), pair[1].layout()
		if !a.Continues(&b) {
			return false
		}
	}
	return true
}

// checkMeanings stores what the values of this call mean, and looks at what those that
// are there do. If that is something else, a part is refused, and the call that publishes
// makes the array anew.
func (r *resumption) checkMeanings(ctx context.Context) error {
	mine, texts, err := r.ownMeanings()
	if err != nil {
		return err
	}
	there, err := r.meanings(ctx)
	if err == nil && !r.pair.DryRun {
		there, err = r.putMeanings(ctx, texts, there)
	}
	if err != nil {
		return err
	}
	others := map[string][]string{} // names by the paths of arrays
	for _, name := range there {
		if texts[name] != nil {
			continue
		}
		is, err := r.meaning(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process has published, or begun anew
		}
		if err != nil {
			return err
		}
		switch now := mine[is.Path]; {
		case now == nil: // sweep deletes the values of an array that is none any more
		case now.agrees(&is):
			now.of.shapes = append(now.of.shapes, is.Result.layout().Grid.Shape())
		default:
			others[is.Path] = append(others[is.Path], name)
		}
	}
	return r.settleMeanings(ctx, others)
}

// ownMeanings returns what the values of this call mean, by the paths of arrays, and as
// texts by their names.
func (r *resumption) ownMeanings() (map[string]*meaning, map[string][]byte, error) {
	mine, texts := map[string]*meaning{}, map[string][]byte{}
	for _, m := range r.survey.members {
		if m.Kind != "array" {
			continue
		}
		is, err := meaningOf(m)
		if err != nil {
			return nil, nil, err
		}
		text, err := json.Marshal(is)
		if err != nil {
			return nil, nil, err
		}
		sum := sha256.Sum256(text)
		mine[m.Path], texts[hex.EncodeToString(sum[:16])] = is, text
	}
	return mine, texts, nil
}

// putMeanings stores the texts that are not there, and lists again: processes that find
// different states must notice each other.
func (r *resumption) putMeanings(ctx context.Context, texts map[string][]byte, there []string) ([]string, error) {
	var stored []string
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if !slices.Contains(there, name) {
			stored = append(stored, name)
		}
	}
	// All of them were stored before the listing, so a process that stores another state
	// later finds them in its own listing.
	if len(stored) == 0 {
		return there, nil
	}
	g, within := parallel.New(ctx)
	g.SetLimit(copying.Workers(&r.pair.Options.Options))
	for _, name := range stored {
		g.Go(func() error {
			return r.pair.Put(within, r.pair.Target.Path.MustKey(meaningDir+name), texts[name])
		})
	}
	err := g.Wait(nil)
	if err == nil {
		if err = r.pair.CheckUnpublished(ctx); errors.Is(err, copying.ErrPublished) {
			// Nobody else would delete them.
			err = errors.Join(err, r.deleteMeanings(ctx, func(name string) bool { return slices.Contains(stored, name) }))
		}
	}
	if err != nil {
		return nil, err
	}
	return r.meanings(ctx)
}

// settleMeanings refuses or removes the values of arrays whose documents have changed.
func (r *resumption) settleMeanings(ctx context.Context, others map[string][]string) error {
	for _, m := range r.survey.members {
		names := others[m.Path]
		switch {
		case len(names) == 0:
			continue
		case r.opt.Share != nil:
			return fmt.Errorf("%w: %q has other chunks than those that parts have converted, and a part removes nothing; convert with Resume and without parts",
				zarr.ErrSourceChanged, "/"+m.path.String())
		case r.pair.DryRun:
			m.fresh = true
			continue
		}
		below := strings.TrimPrefix(m.Path+"/", "/")
		err := r.pair.ClearWhere(ctx, func(name string) bool { // documents of the array are gone
			return strings.HasPrefix(name, below) && !own.IsBelow(name)
		})
		if err == nil {
			// Last, so that a crash before this leads here again.
			err = r.deleteMeanings(ctx, func(name string) bool { return slices.Contains(names, name) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// meanings returns the names of what is known about values.
func (r *resumption) meanings(ctx context.Context) (names []string, err error) {
	for e, err := range store.List(ctx, r.pair.Target.Store, r.pair.Target.Path.MustKey(meaningDir+"-").Dir(), store.Flat) {
		if err != nil {
			return nil, err
		}
		if !e.Dir {
			names = append(names, e.Name)
		}
	}
	return names, nil
}

func (r *resumption) meaning(ctx context.Context, name string) (is meaning, err error) {
	key := r.pair.Target.Path.MustKey(meaningDir + name)
	raw, err := copying.ReadDocument(ctx, r.pair.Target.Store, key, r.pair.Limits)
	if err != nil {
		return is, err
	}
	if err := json.Unmarshal(raw, &is); err != nil {
		return is, fmt.Errorf("%w: %s is damaged; delete the destination, and convert again", zarr.ErrCorrupt, key)
	}
	return is, nil
}

func (r *resumption) deleteMeanings(ctx context.Context, goes func(name string) bool) error {
	names, err := r.meanings(ctx)
	if err != nil {
		return err
	}
	g, within := parallel.New(ctx)
	g.SetLimit(copying.Workers(&r.pair.Options.Options))
	for _, name := range names {
		if goes(name) {
			g.Go(func() error {
				_, err := store.Write(within, r.pair.Target.Store, store.Delete(r.pair.Target.Path.MustKey(meaningDir+name)), store.Sync)
				return err
			})
		}
	}
	return g.Wait(nil)
}
