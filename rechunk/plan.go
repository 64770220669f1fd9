// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/blocks"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/store"
)

// Plan says what a rechunk would do. It is a prediction: writers may change the array
// before it is done.
type Plan struct {
	// Request is what is wanted.
	Request Request
	// Operation is the name of the command: "compact", "regularize", "rechunk", "drop" or
	// "insert".
	Operation string
	// Fingerprint identifies the request.
	Fingerprint string
	// State identifies what the plan was made from.
	State State
	// Grid is the chunk grid that the array gets.
	Grid *grid.Grid
	// Changes is false if the array has that grid and those codecs already.
	Changes bool
	// Strategy is "namespace-flip" if all chunks are stored under other keys, "metadata"
	// if the stored chunks fit already, "copy-publish" for a new array, and "append" if
	// an array that follows another one only grows.
	Strategy string
	// Policy says how the stored growth policy will change, see [Report.Policy].
	Policy string
	// Guarantee is what readers see that opened the array before: "atomic", the old array
	// or the new one.
	Guarantee string
	// Sources is the number of stored chunks, and BytesStored is their size, if the
	// listing knows it.
	Sources, BytesStored int64
	// Counts are what will be staged. Chunks that turn out to have only the fill value
	// count as encoded. BytesLinked is 0: which bytes are shared turns out when they are.
	// Of shards, BytesCopied include the indexes, which are not copied.
	Counts
	// Links says that the store can share bytes between keys.
	Links bool
	// BytesArranged are those of BytesCopied that are put together, and never linked.
	BytesArranged int64
	// Requests are those for chunks, scratch and records. The few for documents, claims
	// and locks are not counted.
	Requests Requests
	// BytesRead are the encoded bytes that are read, and the bytes of scratch. Of shards
	// and of chunks that are not compressed, less may be read.
	BytesRead int64
	// Memory is the most bytes that are held at once.
	Memory int64
	// Space is the room that the result takes in the store.
	Space Space
	// Stages are what several processes can execute together, one after the other. There
	// are none if only the document changes.
	Stages []PlanStage
	// Blocked is why [Do] would fail now: all chunk keys are in use ([ErrNoKeys]). It is
	// nil if there are free ones, or Do frees some first ([Options.Grace]).
	Blocked error
	// Dropped are stored chunks that the new grid no longer has, because a [Removal]
	// takes all of their planes out. BytesDropped is their size, if the listing knows it.
	Dropped, BytesDropped int64
}

// String says in one line how many chunks would be stored, and how.
func (p *Plan) String() string {
	text := quantity.List(p.Counts.texts()...)
	switch {
	case !p.Changes:
		return p.Operation + ": nothing to do: the array has the wanted chunks"
	case text == "":
		text = "only the metadata changes"
	}
	if p.Policy != "" {
		text += "; " + p.Policy
	}
	return p.Operation + ": " + text
}

// guaranteeAtomic is the value of [Plan.Guarantee].
const guaranteeAtomic = "atomic"

// The values of [Plan.Strategy].
const (
	strategyCopy     = "copy-publish"
	strategyFlip     = "namespace-flip"
	strategyMetadata = "metadata"
	strategyAppend   = "append"
)

// Requests counts requests to a store.
type Requests struct {
	Get  int64 // reads of values, of ranges of them, and of the indexes of shards
	Head int64 // of versions
	Put  int64 // also deletions in place of chunks that turn out to have only the fill value
	Copy int64 // values that the store copies, links or assembles
	List int64 // pages of 1000 values, about: some stores list every directory
}

// PlanStage is one stage of a plan.
type PlanStage struct {
	// Name is "scratch" if the stage makes scratch objects, and "stage" if it makes
	// chunks of the new grid.
	Name string
	// Tasks is the number of blocks, each of which is a task.
	Tasks int64
}

// NewPlan predicts what [Do] would do. It lists the stored chunks, and changes nothing.
// The array need not be open for writing.
func NewPlan(ctx context.Context, a *zarr.Array, r Request, opt *Options) (*Plan, error) {
	s, err := newSession(a, r, opt)
	if err != nil {
		return nil, s.array.fail(operationOf(r), err)
	}
	p, err := s.plan(ctx)
	return p, s.array.fail(operationOf(r), err)
}

func (s *session) plan(ctx context.Context) (*Plan, error) {
	old, err := s.array.fresh(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.array.identify(ctx); err != nil {
		return nil, err
	}
	p := &Plan{Request: singleRequest(s.array.request), Operation: s.array.request.operation(), Grid: old.Grid, Strategy: strategyMetadata, Guarantee: guaranteeAtomic, Space: Space{Free: -1}}
	if p.Fingerprint, err = s.array.fingerprint(); err != nil {
		return nil, err
	}
	if err := s.array.checkUnmoved(ctx); err != nil {
		return nil, err
	}
	if p.State, err = s.array.planState(ctx, old); err != nil {
		return nil, err
	}
	if s.destination != nil {
		if err := newCreation(s).checkPlace(ctx, old.Doc); err != nil {
			return nil, err
		}
	}
	if err := s.planAs(ctx); err != nil {
		return nil, err
	}
	d, err := s.draft(old, old.Engine.Keys)
	if err != nil || d == nil {
		return p, err
	}
	p.Changes, p.Grid, p.Policy = true, d.planned.Grid, d.policy
	if d.keepsChunks() {
		return p, nil
	}
	return p, s.predict(ctx, newWork(s, d), p)
}

// predict fills in a plan that stages chunks.
func (s *session) predict(ctx context.Context, w *work, p *Plan) error {
	old := w.draft.old
	p.Strategy, p.Memory = strategyFlip, s.opt.memory()
	// Nothing is staged, so any free keys will do.
	keys, err := s.likelyKeys(ctx, old, p.Fingerprint)
	if s.destination != nil {
		p.Strategy = strategyCopy
		keys, err = newCreation(s).keys(old)
	} else if errors.Is(err, ErrNoKeys) {
		if list := keysFor(old.Engine.Keys, old.Grid.Rank(), old.Doc.Format()); len(list) > 0 {
			free, vacuumErr := s.willFree(ctx, old)
			if keys = list[0]; !free {
				p.Blocked = err
			}
			err = vacuumErr
		}
	}
	if err != nil {
		return err
	}
	// This claim is not stored. It only names the scratch.
	s.hold.claim = &lineage.Claim{ID: newID(), Keys: keys}
	plan, err := w.layout()
	if err != nil {
		return err
	}
	if w.ledger.serial { // as in planner.plan
		size := int64(w.draft.job.Target.Engine.Size)
		p.Memory = max(p.Memory, checked.Capped(2, max(largestChunk(w.draft.job.SourceUnits(), size), largestChunk(w.draft.job.Target.Grid, size))))
	}
	if w.stock.sources, err = staging.List(ctx, w.draft.job.Source); err != nil {
		return err
	}
	if w.stock.wanted, err = w.draft.job.Wanted(w.stock.sources); err != nil {
		return err
	}
	p.State.addChunks(w.stock.sources)
	p.Sources, p.BytesStored = int64(w.stock.sources.Len()), w.stock.sources.Bytes
	p.Dropped, p.BytesDropped = w.draft.job.Unused(w.stock.sources)
	if s.destination == nil {
		p.Links = store.Can(s.hold.at.Store, store.OpClone)
	}
	if err := w.predictStages(p, plan); err != nil {
		return err
	}
	p.Space = spaceOf(s.hold.at, w.draft.job.Source, p)
	return nil
}

// predictStages adds the stages of a plan.
func (w *work) predictStages(p *Plan, plan *blocks.Plan) error {
	list := make([][]int64, len(w.stock.wanted))
	for i, n := range w.stock.wanted {
		list[i] = w.draft.job.Index(n)
	}
	levels, err := w.scratch(plan)
	if err != nil {
		return err
	}
	lists := &listing{source: pages(w.stock.sources.Len()), target: pages(0)}
	var from *staging.Scratch
	for _, l := range levels {
		wanted, err := l.scratch.Wanted(w.stock.sources)
		if err != nil {
			return err
		}
		q := &staging.Predictor{Job: l.scratch.Job, Sources: w.stock.sources, Input: from, Output: l.scratch}
		for _, n := range wanted {
			if err := q.Task(engine.BoxAt(l.scratch.Index(n))); err != nil {
				return err
			}
		}
		tasks, _ := l.scratch.Target.Grid.NumChunks()
		p.add(q, PlanStage{"scratch", tasks})
		lists.addScratch(len(wanted))
		from = l.scratch
	}
	q := &staging.Predictor{Job: w.draft.job, Sources: w.stock.sources, Input: from}
	for _, box := range w.parts(lastBlocks(plan), list) {
		if err := q.Task(box); err != nil {
			return err
		}
	}
	tasks, _ := lastBlocks(plan).NumChunks()
	p.add(q, PlanStage{"stage", tasks})
	lists.addLast(len(list))
	p.Requests.List = lists.pages
	return nil
}

// add adds a stage.
func (p *Plan) add(q *staging.Predictor, stage PlanStage) {
	p.Stages = append(p.Stages, stage)
	p.Counts.include(Counts(q.Counts))
	requests := staging.Requests(p.Requests)
	requests.Add(q.Requests)
	p.Requests = Requests(requests)
	p.BytesRead += q.BytesRead
	p.BytesArranged += q.BytesArranged
}

// listing counts the pages that the listings of a rechunk take.
type listing struct {
	source, target int64 // pages of one listing
	pages          int64
}

// pages returns the pages of a listing of n values, of 1000 each.
func pages(n int) int64 { return max(1, (int64(n)+999)/1000) }

// addComparison adds a comparison of the source with the target.
func (l *listing) addComparison() { l.pages += l.source + l.target }

// addScratch adds the listings for a level that has n objects: before it is made, and
// after.
func (l *listing) addScratch(n int) {
	l.addComparison()
	l.addComparison()
	l.pages += pages(0) + pages(n)
}

// addLast adds the listings for the last stage, which makes n chunks, and for publishing.
func (l *listing) addLast(n int) {
	l.addComparison()
	l.target = pages(n)
	l.addComparison()
}

// Space says how many bytes a rechunk stores before it deletes any. What the old grid
// has stays until [Vacuum].
type Space struct {
	// Least is what it needs in any case: the bytes of scratch and of copies, in a store
	// that neither compresses nor shares them.
	Least int64
	// Likely is an estimate with the encoded chunks. It supposes that they are compressed
	// as well as the stored ones.
	Likely int64
	// Free are the bytes that the store still takes, or -1 if it does not tell.
	Free int64
}

// spaceOf returns the space at a place of what p has predicted for a source.
func spaceOf(at lineage.Array, source *snapshot.Array, p *Plan) Space {
	copied, certain := p.BytesCopied, p.BytesCopied
	if p.Links {
		copied, certain = p.BytesArranged, p.BytesArranged
	}
	// Shards have bytes that are not copied: the index, and inner chunks that were
	// replaced.
	if source.Engine.Chain.Divided() {
		copied, certain = min(copied, p.BytesStored), 0
	}
	took := Space{Likely: p.BytesScratch + copied + encodedBytes(source, p), Free: -1}
	room, err := store.DirectoriesOf(at.Store).Room(at.Path)
	if err != nil {
		return took
	}
	if took.Free = room.Free; room.Plain {
		took.Least = p.BytesScratch + certain
	}
	return took
}

// encodedBytes estimates the bytes of the chunks that are encoded.
func encodedBytes(source *snapshot.Array, p *Plan) int64 {
	all := logicalBytes(source)
	// Some listings know no sizes, and small arrays may take more than their elements.
	if p.BytesStored >= all {
		return p.BytesEncoded
	}
	return int64(float64(p.BytesEncoded) * float64(p.BytesStored) / float64(all))
}

// err returns an error if the space does not suffice in any case.
func (s Space) err(p *Plan, into bool) error {
	if s.Free < 0 || s.Least <= s.Free {
		return nil
	}
	do := []string{"choose another place " + remedy.IntoPlace}
	if !into {
		do = append(do, "delete superseded grids ("+remedy.Vacuum+")")
	}
	return fmt.Errorf("%w: at least %s needed, and %d are free: %s", syscall.ENOSPC, quantity.Count(s.Least, "bytes are"), s.Free, strings.Join(do, ", or "))
}

// checkSpace returns an error if the store has too little room for what is to be staged.
// It checks nothing if the store does not tell its room, or if a rechunk has begun.
func (s *session) checkSpace(ctx context.Context, w *work, plan *blocks.Plan) error {
	room, err := store.DirectoriesOf(s.hold.at.Store).Room(s.hold.at.Path)
	if err != nil || !room.Plain {
		return nil
	}
	// A rechunk that has begun has stored a part of what it needs.
	claimed, err := s.hold.at.Claimed(ctx)
	if claimed || err != nil {
		return err
	}
	// Predicting lists all chunks, which is not worth it if there is plenty.
	if most := checked.Capped(logicalBytes(w.draft.job.Source), int64(len(plan.Stages))+1); room.Free > most {
		return nil
	}
	defer func() { s.hold.claim = nil }() // predict takes one for the names of scratch
	p := new(Plan)
	if err := s.predict(ctx, w, p); err != nil {
		return err
	}
	return p.Space.err(p, s.destination != nil)
}

// checkRoom returns an error if a chunk of the new grid does not fit into the memory, or
// all of them not into the store.
func (s *session) checkRoom(ctx context.Context, old *snapshot.Array) error {
	d, err := s.draft(old, old.Engine.Keys)
	if err != nil || d == nil {
		return err
	}
	w := newWork(s, d)
	plan, err := w.layout()
	if err != nil {
		return err
	}
	return s.checkSpace(ctx, w, plan)
}

// State identifies what a plan was made from.
type State struct {
	// Document identifies the metadata of the array, with its growth policy and without
	// other attributes.
	Document string `json:"document"`
	// Chunks identifies the stored chunks, by their keys and versions. It is "" if the
	// plan has not listed them.
	Chunks string `json:"chunks,omitempty"`
	// Moved is the ID of the last rechunk that had dropped or inserted elements, ""
	// if there was none. It is nil if the plan has no indices of elements.
	Moved *string `json:"moved,omitempty"`
}

// Changes says what has changed in an array since a plan with that fingerprint was made
// from this state, or returns "". Once a part of the plan is executed, it compares only
// the metadata: linking gives chunks other versions, and the tasks find out themselves
// which of them were written.
//
// If elements were dropped or inserted since, and the plan has indices of elements, the
// error wraps [zarr.ErrConflict].
func (p State) Changes(ctx context.Context, a *zarr.Array, fingerprint string, opt *Options) (string, error) {
	s, err := newSession(a, Rechunking{}, opt)
	if err != nil {
		return "", s.array.fail("compare", err)
	}
	text, err := p.compare(ctx, s, fingerprint)
	return text, s.array.fail("compare", err)
}

func (p State) compare(ctx context.Context, s *session, fingerprint string) (string, error) {
	old, err := s.array.fresh(ctx)
	if err != nil {
		return "", err
	}
	now, err := stateOf(old)
	if err != nil {
		return "", err
	}
	c, err := s.hold.at.Claim(ctx)
	if err != nil {
		return "", err
	}
	begun := c != nil && c.Fingerprint == fingerprint
	// Once the plan has begun, its claim keeps other rechunks from moving planes.
	if p.Moved != nil && !begun {
		if moved, err := s.array.lastMove(ctx, old); err != nil || moved != *p.Moved {
			return "", cmp.Or(err, errMoved)
		}
	}
	if now.Document != p.Document {
		return "its metadata are others", nil
	}
	if p.Chunks == "" || begun {
		return "", nil
	}
	sources, err := staging.List(ctx, old)
	if err != nil {
		return "", err
	}
	if now.addChunks(sources); now.Chunks != p.Chunks {
		return "chunks were written or deleted", nil
	}
	return "", nil
}

// planState returns the state without chunks, for a plan.
func (a *subject) planState(ctx context.Context, old *snapshot.Array) (State, error) {
	p, err := stateOf(old)
	if k, is := singleRequest(a.request).(Rechunking); err != nil || !a.movesPlanes() && (!is || k.Region == nil) {
		return p, err
	}
	moved, err := a.lastMove(ctx, old)
	p.Moved = &moved
	return p, err
}

// stateOf returns the state without chunks. It does not depend on how the document is
// spelled: another program may set an attribute meanwhile, and write all of it anew.
func stateOf(old *snapshot.Array) (State, error) {
	raw, err := likeness.Identity(old.Doc)
	if err != nil {
		return State{}, err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s %s", raw, likeness.Plain(growthOf(old.Doc.Attributes)))
	return State{Document: hex.EncodeToString(h.Sum(nil)[:16])}, nil
}

// addChunks adds the stored chunks to the state.
func (p *State) addChunks(sources *staging.Table) {
	h := sha256.New()
	var room []byte
	for index := range sources.All() {
		room = room[:0]
		for _, k := range index {
			room = binary.AppendVarint(room, k)
		}
		h.Write(binary.LittleEndian.AppendUint64(room, uint64(sources.Digest(index))))
	}
	p.Chunks = hex.EncodeToString(h.Sum(nil)[:16])
}
