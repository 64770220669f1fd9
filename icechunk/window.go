// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"iter"
	"maps"
	"math"
	"path"
	"regexp"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr/icechunk/internal/format"
)

// The references of an array are in manifests, each of which has those of one window of
// the grid of chunks. A commit stores only the manifests of windows in which something
// has changed. The configuration of a repository may say how long windows are
// (manifest.splitting); other programs may have chosen others.

// windows has the number of chunks of a window along each axis.
type windows []uint32

// fullWindow is about how many references the manifest of a window has at most, unless
// the configuration says something else.
const fullWindow = 1 << 15

// newWindows returns the windows of an array: by the first rule for each axis or, without
// rules, by [fullWindow]. refs is about how many references the array has.
func newWindows(rules []splitRule, n *format.Node, refs int) windows {
	w := make(windows, len(n.Shape))
	for i := range w {
		w[i] = math.MaxUint32
		var name *string
		if n.Names != nil {
			name = n.Names[i]
		}
		if chunks, ok := ruledChunks(rules, n.Path, i, name); ok {
			w[i] = max(chunks, 1)
		}
	}
	isWhole := !slices.ContainsFunc(w, func(chunks uint32) bool { return chunks != math.MaxUint32 })
	if rules == nil && refs > 2*fullWindow || isWhole && refs > mostInOne {
		w.divide(n.Shape, refs)
	}
	return w
}

// mostInOne is how many references a manifest has at the most if rules permit any number:
// an object has at most 2 GiB.
const mostInOne = 1 << 22

// divide divides a grid with some references in windows with about [fullWindow] of them.
// Arrays grow along the first axes, so these are divided first.
func (w windows) divide(shape []format.Dimension, refs int) {
	cells := 1.0
	for _, d := range shape {
		cells *= float64(d.Chunks)
	}
	// Not all chunks of a grid are stored.
	left := fullWindow * max(cells/float64(refs), 1)
	for i := len(w) - 1; i >= 0; i-- {
		if chunks := float64(shape[i].Chunks); chunks <= left {
			left /= max(chunks, 1)
			continue
		}
		// A power of two changes rarely when another axis grows.
		for w[i] = 1; 2*float64(w[i]) <= left; {
			w[i] *= 2
		}
		left = 0
	}
}

// key returns a name for the window of a chunk. Names have the order of windows.
func (w windows) key(index []uint32) string {
	key := make([]byte, 0, 4*len(w))
	for i, n := range index {
		key = binary.BigEndian.AppendUint32(key, n/w[i])
	}
	return string(key)
}

// around returns the name of the window that contains extents, if one does.
func (w windows) around(extents []format.Extent) (key string, ok bool) {
	if len(extents) != len(w) {
		return "", false
	}
	first := make([]uint32, len(w))
	for i, e := range extents {
		if first[i] = e.From; e.To <= e.From || e.From/w[i] != (e.To-1)/w[i] {
			return "", false
		}
	}
	return w.key(first), true
}

// splitRule says how the references of some arrays are divided.
type splitRule struct {
	arrays func(path string) bool
	axes   []axisRule
}

// axisRule is a rule for some axes.
type axisRule struct {
	axes   func(axis int, name *string) bool
	chunks uint32
}

// ruledChunks returns the number of chunks of a window along an axis, by the first rule
// that is for it.
func ruledChunks(rules []splitRule, path string, axis int, name *string) (uint32, bool) {
	for _, r := range rules {
		if !r.arrays(path) {
			continue
		}
		for _, a := range r.axes {
			if a.axes(axis, name) {
				return a.chunks, true
			}
		}
	}
	return 0, false
}

// splitRules returns the rules of a parsed configuration, nil if it has none. Like the
// reference, it takes what it does not understand for a rule that is for nothing.
func splitRules(config map[string]any) (rules []splitRule) {
	manifest, _ := config["manifest"].(map[string]any)
	splitting, _ := manifest["splitting"].(map[string]any)
	sizes, _ := splitting["split_sizes"].([]any)
	for _, one := range sizes {
		pair, _ := one.([]any)
		if len(pair) != 2 {
			continue
		}
		r := splitRule{arrays: arrayCondition(pair[0])}
		list, _ := pair[1].([]any)
		for _, one := range list {
			dim, _ := one.(map[string]any)
			if chunks, ok := whole(dim["num_chunks"]); ok && chunks <= math.MaxUint32 {
				r.axes = append(r.axes, axisRule{axisCondition(dim["condition"]), uint32(chunks)})
			}
		}
		rules = append(rules, r)
	}
	return rules
}

// whole returns a number that is not negative.
func whole(v any) (uint64, bool) {
	switch n := v.(type) {
	case int64:
		return uint64(n), n >= 0
	case uint64:
		return n, true
	}
	return 0, false
}

// arrayCondition returns which paths a condition for arrays is for.
func arrayCondition(v any) func(string) bool {
	if v == "any_array" {
		return func(string) bool { return true }
	}
	is, _ := v.(map[string]any)
	matching := func(v any) func(string) bool {
		pattern, _ := v.(map[string]any)
		return matcher(pattern["regex"])
	}
	if all, ok := is["path_matches"]; ok {
		return matching(all)
	}
	if base, ok := is["name_matches"]; ok {
		match := matching(base)
		return func(p string) bool { return p != "/" && match(path.Base(p)) }
	}
	for name, want := range map[string]bool{"or": true, "and": false} {
		if list, ok := is[name].([]any); ok {
			var conditions []func(string) bool
			for _, one := range list {
				conditions = append(conditions, arrayCondition(one))
			}
			return func(p string) bool {
				return slices.ContainsFunc(conditions, func(c func(string) bool) bool { return c(p) == want }) == want
			}
		}
	}
	return func(string) bool { return false }
}

// axisCondition returns which axes a condition for axes is for.
func axisCondition(v any) func(int, *string) bool {
	if v == "Any" {
		return func(int, *string) bool { return true }
	}
	is, _ := v.(map[string]any)
	if axis, ok := whole(is["Axis"]); ok {
		return func(i int, _ *string) bool { return uint64(i) == axis }
	}
	match := matcher(is["DimensionName"])
	return func(_ int, name *string) bool { return name != nil && match(*name) }
}

// matcher returns what a regular expression is for.
func matcher(v any) func(string) bool {
	text, ok := v.(string)
	if pattern, err := regexp.Compile(text); ok && err == nil {
		return pattern.MatchString
	}
	return func(string) bool { return false }
}

// window is what a commit knows of a window of an array.
type window struct {
	manifests []format.ManifestRef // of the base, that lie in the window
	old       []format.ChunkRef    // of the base, in manifests that lie in several windows
	chunks    *stagedChunks        // by the session
	changes   []change             // that lie in the window
}

// change is a chunk that a session has stored or deleted.
type change struct {
	index []uint32
	at    position
}

// gatherChunks makes the manifests of an array, and adds what has changed to the log. If
// isMoved, no chunk of the base has the index that it had.
func (c *commit) gatherChunks(ctx context.Context, n, was *format.Node, is *staged, isMoved bool, files map[ID]format.ManifestFile) error {
	all, err := c.windows(ctx, n, was, is)
	if err != nil {
		return err
	}
	keys := slices.Sorted(maps.Keys(all))
	results := make([]outcome, len(keys))
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, key := range keys {
		g.Go(func() (err error) {
			results[i], err = c.gatherWindow(within, n, was, all[key], isMoved)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	var changed [][]uint32
	for i, key := range keys {
		r := results[i]
		changed = append(changed, r.changed...)
		switch {
		case r.stays:
			n.Manifests = append(n.Manifests, all[key].manifests...)
			if err := c.keepFiles(all[key].manifests, files); err != nil {
				return err
			}
		case r.object.data != nil:
			n.Manifests = append(n.Manifests, r.manifest)
			files[r.manifest.ID] = r.file
			c.objects = append(c.objects, r.object)
		}
	}
	if len(changed) > 0 {
		c.log.Chunks = append(c.log.Chunks, format.ChunkChanges{Node: n.ID, Indices: changed})
	}
	return nil
}

// outcome is what a commit makes of a window.
type outcome struct {
	stays    bool       // the window keeps its manifest
	changed  [][]uint32 // chunks that are other ones than before, or gone
	manifest format.ManifestRef
	file     format.ManifestFile
	object   object // the new manifest, without data if the window has no references
}

// gatherWindow makes the manifest of a window. It runs beside that of other windows.
func (c *commit) gatherWindow(ctx context.Context, n, was *format.Node, w *window, isMoved bool) (o outcome, err error) {
	o.stays = w.old == nil && len(w.manifests) == 1 && covers(n, w.manifests[0])
	if o.stays && !isMoved && len(w.changes) == 0 {
		return o, nil
	}
	size, laterErr, err := c.look(ctx, n, w.manifests)
	if err != nil {
		return o, err
	}
	m := &draft{n: n, writer: format.NewManifestWriter(size + format.TypicalReference*int64(len(w.old)+len(w.changes)))}
	if o.changed, err = w.merge(n, c.oldRefs(ctx, was, w), isMoved, m.add); err != nil {
		return o, err
	}
	if o.stays = o.stays && len(o.changed) == 0; o.stays {
		return o, nil
	}
	if laterErr != nil || m.writer.Len() == 0 {
		return o, laterErr
	}
	o.manifest = format.ManifestRef{ID: newID(), Extents: m.extents}
	o.file = format.ManifestFile{ID: o.manifest.ID, References: uint32(m.writer.Len())}
	m.writer.EndArray(n.ID)
	body, err := m.writer.Finish(o.manifest.ID)
	if err == nil {
		o.object, err = c.seal(manifestName(o.manifest.ID), format.KindManifest, body)
	}
	o.file.Size = uint64(len(o.object.data))
	return o, err
}

// draft is a manifest of an array that is being made.
type draft struct {
	n       *format.Node
	writer  *format.ManifestWriter
	extents []format.Extent
}

// add adds a reference.
func (m *draft) add(ref format.ChunkRef) {
	if m.extents == nil {
		m.extents = make([]format.Extent, len(m.n.Shape))
		for i, k := range ref.Index {
			m.extents[i].From = k
		}
	}
	for i, k := range ref.Index {
		e := &m.extents[i]
		e.From, e.To = min(e.From, k), max(e.To, k+1)
	}
	m.writer.Add(ref)
}

// windows returns the windows of an array that have chunks, or had some, by their names.
func (c *commit) windows(ctx context.Context, n, was *format.Node, is *staged) (map[string]*window, error) {
	chunks := c.chunks[is.id]
	refs := chunks.len()
	if was != nil {
		for _, m := range was.Manifests {
			f, _ := c.base.content.FindFile(m.ID)
			refs += int(f.References)
		}
	}
	sizes := newWindows(c.rules, n, refs)
	all := map[string]*window{}
	at := func(key string) *window {
		if all[key] == nil {
			all[key] = &window{chunks: chunks}
		}
		return all[key]
	}
	if was != nil {
		for _, m := range was.Manifests {
			if key, ok := sizes.around(m.Extents); ok {
				w := at(key)
				w.manifests = append(w.manifests, m)
				continue
			}
			if _, laterErr, err := c.look(ctx, n, []format.ManifestRef{m}); err != nil || laterErr != nil {
				return nil, cmp.Or(err, laterErr)
			}
			for ref, err := range c.base.manifestRefs(ctx, was, m) {
				if err != nil {
					return nil, err
				}
				w := at(sizes.key(ref.Index))
				ref.Index = slices.Clone(ref.Index)
				w.old = append(w.old, ref)
			}
		}
	}
	for _, w := range all {
		w.changes = make([]change, 0, chunks.len()/len(all))
	}
	rank := len(n.Shape)
	indices := make([]uint32, 0, rank*chunks.len())
	for name, place := range chunks.all() {
		// Chunks by other encodings are those of a former grid.
		list, ok := appendIndex(indices, is.keys, string(name), rank)
		if index := list[len(indices):]; ok && !beyond(n, index) {
			indices = list
			w := at(sizes.key(index))
			w.changes = append(w.changes, change{index, place})
		}
	}
	return all, nil
}

// look adds the lengths of manifests, in bytes, if their locations were not compressed.
// laterErr is set if they have fields of a later version, which new manifests would lack.
func (c *commit) look(ctx context.Context, n *format.Node, manifests []format.ManifestRef) (size int64, laterErr, err error) {
	for _, m := range manifests {
		is, err := c.repository.manifest(ctx, c.base.content, m.ID)
		if err != nil {
			return 0, nil, err
		}
		if size += max(is.Size(), format.TypicalReference*int64(is.Of(n.ID).Len())); is.Later {
			laterErr = errLater
		}
	}
	return size, laterErr, nil
}

// oldRefs yields the references of the base in a window, in order. The next one may reuse
// the index.
func (c *commit) oldRefs(ctx context.Context, was *format.Node, w *window) iter.Seq2[format.ChunkRef, error] {
	if len(w.old) == 0 && len(w.manifests) == 1 {
		return c.base.manifestRefs(ctx, was, w.manifests[0])
	}
	return func(yield func(format.ChunkRef, error) bool) {
		refs := w.old
		for _, m := range w.manifests {
			for ref, err := range c.base.manifestRefs(ctx, was, m) {
				if err != nil {
					yield(ref, err)
					return
				}
				ref.Index = slices.Clone(ref.Index)
				refs = append(refs, ref)
			}
		}
		slices.SortFunc(refs, func(a, b format.ChunkRef) int { return slices.Compare(a.Index, b.Index) })
		for _, ref := range refs {
			if !yield(ref, nil) {
				return
			}
		}
	}
}

// merge calls add for the references of the window after a commit, in order. It returns
// the indices of those that are other ones than before, or gone. n is the array after the
// commit.
func (w *window) merge(n *format.Node, old iter.Seq2[format.ChunkRef, error], isMoved bool, add func(format.ChunkRef)) (changed [][]uint32, err error) {
	slices.SortFunc(w.changes, func(a, b change) int { return slices.Compare(a.index, b.index) })
	changed = make([][]uint32, 0, len(w.changes))
	todo := w.changes
	// put adds the next change, in the place of a reference or of none.
	put := func(was format.ChunkRef) {
		ref := w.chunks.reference(todo[0].at)
		if ref.Index = todo[0].index; !isSame(ref, was) {
			changed = append(changed, ref.Index)
		}
		if todo = todo[1:]; ref.Payload != 0 {
			add(ref)
		}
	}
	for ref, err := range old {
		if err != nil {
			return nil, err
		}
		order := -1
		for len(todo) > 0 && order < 0 {
			if order = slices.Compare(todo[0].index, ref.Index); order < 0 {
				put(format.ChunkRef{})
			}
		}
		switch {
		case len(todo) > 0 && order == 0:
			put(ref)
		case isMoved || beyond(n, ref.Index):
			changed = append(changed, slices.Clone(ref.Index))
		default:
			add(ref)
		}
	}
	for len(todo) > 0 {
		put(format.ChunkRef{})
	}
	return changed, nil
}

// isSame reports whether two references lead to the same bytes.
func isSame(a, b format.ChunkRef) bool {
	switch {
	case a.Payload != b.Payload || a.Length != b.Length || a.Offset != b.Offset:
		return false
	case a.Payload == format.Inline:
		return bytes.Equal(a.Data, b.Data)
	case a.Payload == format.Native:
		return a.ID == b.ID
	}
	return bytes.Equal(a.Location, b.Location) && bytes.Equal(a.ETag, b.ETag) && a.Modified == b.Modified
}

// covers reports whether no reference of a manifest may lie beyond an array. Other
// programs leave such references, which a larger shape would show.
func covers(n *format.Node, m format.ManifestRef) bool {
	for i, e := range m.Extents {
		if uint64(e.To) > n.Shape[i].Chunks {
			return false
		}
	}
	return true
}
