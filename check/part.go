// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/consolidation"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/transfer"
)

// part is what [RunPart] found in its share of the chunks. It has at most
// [Options.MostFaults] faults of each array.
type part struct {
	share   transfer.Share // Of is at least 1
	checked Counts         // sums; Arrays are those with chunks in the share
	how     manner
	arrays  []portionOf
}

// manner is how chunks were checked.
type manner struct {
	Fast     bool `json:"fast,omitempty"`
	Complete bool `json:"complete,omitempty"`
}

// portionOf is what was found in the portion of one array.
type portionOf struct {
	path     string // relative to the checked node
	document string // digest of the documents of the array
	counts   Counts // without Arrays and Unchecked
	found    []zarr.ShardFault
	err      error // why the check has ended early, or nil
}

// RunPart checks a share of the chunks of an array, or of each array below a group, and
// returns what it has found, as JSON. It lists at most [Options.MostFaults] faults of
// each array. The shares may be checked by several processes, on several machines, in any
// order, and also more than once. [Run] with [Options.Parts] does the rest and reports
// what all of them have found.
//
// The errors are those of [Run]. Below a group, an array that cannot be checked is part
// of the result. More than 100 chunks in a row that cannot be read end the check of an
// array in its share. If a group cannot be listed completely, RunPart returns both a part
// on the rest and an error; Run checks what the part lacks. If the share is none, or if
// the options have a sample or parts, the error wraps [zarr.ErrInvalidArgument].
func RunPart(ctx context.Context, n zarr.Node, s transfer.Share, opt *Options) ([]byte, error) {
	o := opt.orDefault()
	if err := share(s).valid(); err != nil {
		return nil, err
	}
	if o.Sample != 0 || len(o.Parts) > 0 {
		return nil, fmt.Errorf("%w: a part has no sample and is not made of parts", zarr.ErrInvalidArgument)
	}
	s.Of = max(1, s.Of)
	p := &part{share: s, how: o.manner()}
	var err, bad error
	switch n := n.(type) {
	case *zarr.Array:
		err = p.check(ctx, "", n, &o)
		if err == nil && len(p.arrays) > 0 {
			err = p.arrays[0].err
		}
	case *zarr.Group:
		bad, err = p.checkBelow(ctx, n, &o)
	default:
		err = noNode(n)
	}
	if err != nil {
		return nil, err
	}
	text, err := p.encode()
	return text, errors.Join(bad, p.sum(), err)
}

// manner returns how the options check chunks.
func (o *Options) manner() manner { return manner{Fast: o.Fast, Complete: o.Complete} }

// checkBelow checks the share of all arrays below a group. bad is the reason if not all
// of them are known, and err is that of the context.
func (p *part) checkBelow(ctx context.Context, g *zarr.Group, o *Options) (bad, err error) {
	// Run finds the same arrays.
	stale, bad := consolidation.Stale(ctx, g.Location(), g.Metadata(), nil)
	for m, err := range consolidation.Members(ctx, g, stale, true) {
		if err != nil {
			bad = errors.Join(bad, err)
			continue
		}
		if a, ok := m.Node.(*zarr.Array); ok && m.Err == nil {
			if err := p.check(ctx, m.Path, a, o); err != nil {
				return nil, err
			}
		}
	}
	return bad, ctx.Err()
}

// check checks the share of the chunks of an array. The error is that of the context.
func (p *part) check(ctx context.Context, path string, a *zarr.Array, o *Options) error {
	if share(p.share).of(path, a.Grid()).size == 0 {
		return ctx.Err() // also for a document that is stale: Run notices
	}
	// The chunks are those of the document that the part names. If the array changes
	// meanwhile, Run finds another document and checks the array itself.
	err := a.Refresh(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	part := share(p.share).of(path, a.Grid())
	document, ok := documentOf(a)
	if err != nil || !ok || part.size == 0 {
		return nil // Run checks the array itself
	}
	r := &Array{Path: path}
	o.Progress(path, 0, part.size)
	err = r.readChunks(ctx, a, o, part.from, part.to, part.size)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if now, _ := documentOf(a); now != document {
		return nil // some chunks may have been those of another grid
	}
	one := portionOf{path: path, document: document}
	if err != nil {
		one.err = err // as Run does, drop what was found before
	} else {
		one.counts, one.found = r.Counts, r.Found
	}
	p.arrays = append(p.arrays, one)
	return nil
}

// documentOf returns a digest of the documents of an array as they are now known. It
// returns false if they cannot be written again.
func documentOf(a *zarr.Array) (string, bool) {
	doc, limits := a.Metadata(), metadata.Limits{Document: longestDocument, Depth: a.Options().Limits.Depth}
	text, err := doc.Marshal(limits)
	if err != nil {
		return "", false
	}
	attributes, err := doc.MarshalAttributes(limits)
	if err != nil {
		return "", false
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d\n", len(text))
	h.Write(text) // never fails
	h.Write(attributes)
	return hex.EncodeToString(h.Sum(nil)), true
}

// longestDocument bounds a document that was read already.
const longestDocument = 1 << 40

// sum fills in the sums.
func (p *part) sum() error {
	p.checked = Counts{}
	for _, one := range p.arrays {
		c, ok := plus(p.checked, one.counts)
		if !ok {
			return fmt.Errorf("%w: check: counts of %v", zarr.ErrOverflow, p.share)
		}
		p.checked = c
		p.checked.Arrays++
		if one.err != nil {
			p.checked.Unchecked++
		}
	}
	return nil
}

// plus returns the sums of counts of chunks, and whether they fit. Counts of arrays stay.
func plus(a, b Counts) (Counts, bool) {
	fits := true
	to, more := a.chunkCounts(), b.chunkCounts()
	for i, n := range to {
		sum, ok := checked.Add(*n, *more[i])
		*n, fits = sum, fits && ok
	}
	return a, fits
}

// chunkCounts returns the counts that are about chunks.
func (c *Counts) chunkCounts() [8]*int64 {
	return [...]*int64{&c.Chunks, &c.Inner, &c.Bytes, &c.Dead, &c.Faults, &c.Damaged, &c.Missing, &c.Unread}
}

// partVersion is the version of the JSON of a part.
const partVersion = 1

// partJSON is a part as JSON.
type partJSON struct {
	Version int   `json:"varve_check_part"`
	Task    int64 `json:"task"`
	Of      int64 `json:"of"`
	manner
	Arrays []portionJSON `json:"arrays"`
}

// portionJSON is what was found in one array.
type portionJSON struct {
	Path     string      `json:"path"`
	Document string      `json:"document"`
	Counts   countsJSON  `json:"counts"`
	Faults   []faultJSON `json:"faults,omitempty"`
	Error    *errorJSON  `json:"error,omitempty"`
}

// countsJSON are the counts of chunks.
type countsJSON struct {
	Chunks  int64 `json:"chunks"`
	Inner   int64 `json:"inner,omitempty"`
	Bytes   int64 `json:"bytes,omitempty"`
	Dead    int64 `json:"dead,omitempty"`
	Faults  int64 `json:"faults,omitempty"`
	Damaged int64 `json:"damaged,omitempty"`
	Missing int64 `json:"missing,omitempty"`
	Unread  int64 `json:"unread,omitempty"`
}

// faultJSON is a fault of a chunk.
type faultJSON struct {
	Chunk  []int64   `json:"chunk"`
	Key    string    `json:"key"`
	Inner  [][]int64 `json:"inner,omitempty"`
	Offset int64     `json:"offset,omitempty"`
	Length int64     `json:"length,omitempty"`
	Shared bool      `json:"shared,omitempty"`
	Error  errorJSON `json:"error"`
}

// encode returns the JSON of a part.
func (p *part) encode() ([]byte, error) {
	out := partJSON{Version: partVersion, Task: p.share.Task, Of: p.share.Of, manner: p.how, Arrays: make([]portionJSON, len(p.arrays))}
	for i, one := range p.arrays {
		to := &out.Arrays[i]
		*to = portionJSON{Path: one.path, Document: one.document, Counts: one.counts.json()}
		if one.err != nil {
			e := newErrorJSON(one.err)
			to.Error = &e
		}
		for _, f := range one.found {
			to.Faults = append(to.Faults, faultJSON{f.Shard, f.Key, f.Inner, f.Off, f.Len, f.Shared, newErrorJSON(f.Err)})
		}
	}
	return json.Marshal(out)
}

// decodePart reads the JSON of a part. Errors about what [RunPart] cannot have written
// wrap [zarr.ErrInvalidArgument], or [zarr.ErrUnsupported] for a part of a later version
// of this package.
func decodePart(data []byte) (*part, error) {
	var in partJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("%w: check: not a part: %w", zarr.ErrInvalidArgument, err)
	}
	if in.Version > partVersion {
		return nil, fmt.Errorf("%w: check: a part of version %d, made by a newer version of this package", zarr.ErrUnsupported, in.Version)
	}
	of := transfer.Share{Task: in.Task, Of: in.Of}
	if in.Version != partVersion || of.Of < 1 || share(of).valid() != nil {
		return nil, fmt.Errorf("%w: check: not a part", zarr.ErrInvalidArgument)
	}
	p, paths := &part{share: of, how: in.manner}, map[string]bool{}
	for _, one := range in.Arrays {
		if paths[one.Path] {
			return nil, fmt.Errorf("%w: check: %v has array %q twice", zarr.ErrInvalidArgument, of, one.Path)
		}
		paths[one.Path] = true
		found, err := one.restored()
		if err != nil {
			return nil, fmt.Errorf("%w: check: array %q in %v: %w", zarr.ErrInvalidArgument, one.Path, of, err)
		}
		p.arrays = append(p.arrays, found)
	}
	if err := p.sum(); err != nil {
		return nil, err
	}
	return p, nil
}

// restored returns what was found in the array.
func (p portionJSON) restored() (portionOf, error) {
	one := portionOf{path: p.Path, document: p.Document, counts: p.Counts.restored()}
	for _, n := range one.counts.chunkCounts() {
		if *n < 0 {
			return one, fmt.Errorf("a count is %d", *n)
		}
	}
	if p.Error != nil {
		err, ok := p.Error.restored()
		if !ok {
			return one, fmt.Errorf("an error of the unknown kind %q", p.Error.Kind)
		}
		one.err = err
	}
	for _, f := range p.Faults {
		err, ok := f.Error.restored()
		if !ok {
			return one, fmt.Errorf("a fault of the unknown kind %q", f.Error.Kind)
		}
		one.found = append(one.found, zarr.ShardFault{
			Shard: f.Chunk, Key: f.Key, Fault: codec.Fault{Inner: f.Inner, Off: f.Offset, Len: f.Length, Shared: f.Shared, Err: err},
		})
	}
	return one, nil
}

// json returns the counts of chunks as JSON has them.
func (c Counts) json() countsJSON {
	return countsJSON{c.Chunks, c.Inner, c.Bytes, c.Dead, c.Faults, c.Damaged, c.Missing, c.Unread}
}

// restored returns the counts.
func (c countsJSON) restored() Counts {
	return Counts{Chunks: c.Chunks, Inner: c.Inner, Bytes: c.Bytes, Dead: c.Dead, Faults: c.Faults, Damaged: c.Damaged, Missing: c.Missing, Unread: c.Unread}
}

// parts are the results of all parts, by the path of the array and then by the task.
type parts struct {
	of    int64
	found map[string][]taken
}

// taken is what one part has found in an array.
type taken struct {
	task int64
	*portionOf
}

// gather checks that the parts are complete and belong together. Of parts with the same
// task the last one counts.
func (o *Options) gather() error {
	if len(o.Parts) == 0 {
		return nil
	}
	if o.Sample != 0 {
		return fmt.Errorf("%w: parts have no sample", zarr.ErrInvalidArgument)
	}
	tasks, first := map[int64]*part{}, transfer.Share{}
	for i, text := range o.Parts {
		p, err := decodePart(text)
		switch {
		case errors.Is(err, zarr.ErrUnsupported):
			return fmt.Errorf(remedy.Parts+"%d]: %w", i, err)
		case err != nil:
			return fmt.Errorf(remedy.Parts+"%d]"+remedy.NoResult+": %w", i, err)
		case i == 0:
			first = p.share
		case p.share.Of != first.Of:
			return fmt.Errorf("%w: %v and %v do not belong together", zarr.ErrInvalidArgument, first, p.share)
		}
		if p.how != o.manner() {
			return fmt.Errorf("%w: %v was made with other options: Fast %t and Complete %t", zarr.ErrInvalidArgument, p.share, p.how.Fast, p.how.Complete)
		}
		tasks[p.share.Task] = p
	}
	of := first.Of
	switch lacking := of - int64(len(tasks)); {
	case lacking > 1:
		return fmt.Errorf("%w: %v is missing, and %d more: RunPart makes them", zarr.ErrInvalidArgument, firstGap(tasks, of), lacking-1)
	case lacking == 1:
		return fmt.Errorf("%w: %v is missing: RunPart makes it", zarr.ErrInvalidArgument, firstGap(tasks, of))
	}
	o.parts = parts{of, map[string][]taken{}}
	for _, task := range slices.Sorted(maps.Keys(tasks)) {
		o.parts.add(tasks[task])
	}
	return nil
}

// firstGap returns the first share that has no part.
func firstGap(tasks map[int64]*part, of int64) transfer.Share {
	gap := transfer.Share{Of: of}
	for tasks[gap.Task] != nil {
		gap.Task++
	}
	return gap
}

// add adds a part.
func (p *parts) add(of *part) {
	for i := range of.arrays {
		one := &of.arrays[i]
		p.found[one.path] = append(p.found[one.path], taken{of.share.Task, one})
	}
}

// take adds to the result of an array what the parts have found in its chunks. It returns
// false if they have not checked all chunks of the array as its document describes it
// now. An error of a part is returned as that of a check.
func (p *parts) take(ctx context.Context, r *Array, a *zarr.Array, most int) (bool, error) {
	list := p.found[r.Path]
	if len(list) == 0 || a.Refresh(ctx) != nil {
		return false, nil
	}
	document, ok := documentOf(a)
	if !ok {
		return false, nil
	}
	done, all := int64(0), int64(0)
	for _, one := range list {
		part := share{Task: one.task, Of: p.of}.of(r.Path, a.Grid())
		if one.document != document {
			return false, nil
		}
		done, all = done+part.size, part.all
	}
	if done != all {
		return false, nil // a part has not seen the array
	}
	sort.Slice(list, func(i, j int) bool {
		return share{list[i].task, p.of}.place(r.Path) < share{list[j].task, p.of}.place(r.Path)
	})
	return true, r.addParts(list, most)
}

// addParts adds what the parts have found, in the order of their chunks.
func (r *Array) addParts(list []taken, most int) error {
	for _, one := range list {
		if one.err != nil {
			return one.err
		}
		sum, ok := plus(r.Counts, one.counts)
		if !ok {
			return fmt.Errorf("%w: counts of %v", zarr.ErrOverflow, r.Path)
		}
		r.Counts = sum
		for _, f := range one.found {
			r.keep(f, most)
		}
	}
	r.sortFound(most)
	return nil
}
