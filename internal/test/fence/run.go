// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// Run plays scenes of three programs, each times times, in random orders, with and
// without faults, in object stores that open returns: those of one array, and those of
// groups. Each run has an empty store. The array must have every change that succeeded,
// once and whole, and no change that was reported as failed.
func Run(t *testing.T, open func() stepping.ObjectStore, times int) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	var runs, stalled atomic.Int64
	group := new(errgroup.Group)
	group.SetLimit(4)
	try := func(name string, play func(p *runner, b bounds, by chooser) (stepping.Trace, error)) {
		group.Go(func() error {
			p := newRunner(open, false)
			all := []bounds{{1, 0}, {-1, 0}, {2, 1}, {-1, 2}}
			for i := range times {
				b := all[(i+int(seed))%len(all)]
				trace, err := play(p, b, randomly(rand.New(rand.NewPCG(seed, uint64(i)))))
				if err != nil {
					return fmt.Errorf("%s, seed %d, run %d, %+v: %w\n%v", name, seed, i, b, err, trace)
				}
				if runs.Add(1); trace == nil {
					stalled.Add(1)
				}
			}
			return nil
		})
	}
	for i := range scenes {
		s := &scenes[i]
		try(s.name, func(p *runner, b bounds, by chooser) (stepping.Trace, error) { return p.play(s, b, by) })
	}
	for i, acts := range jointScenes {
		try(fmt.Sprintf("group %d", i), func(p *runner, b bounds, by chooser) (stepping.Trace, error) { return p.playJoint(acts, b, by) })
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	rarely(t, runs.Load())
	if stalled.Load() > runs.Load()/2 {
		t.Errorf("%d of %d runs took longer than %v and were discarded", stalled.Load(), runs.Load(), stallTime)
	}
}

// outcome is what is known about an action after its program has ended.
type outcome int

const (
	undone outcome = iota
	done
	perhaps
)

func (f outcome) String() string { return [...]string{"not done", "done", "perhaps"}[f] }

// outcomeOf derives the outcome of an action from the error that its program got.
func outcomeOf(err error, died bool) outcome {
	switch {
	case err == nil, errors.Is(err, zarr.ErrIncomplete):
		return done
	case died, errors.Is(err, zarr.ErrOutcomeUnknown):
		return perhaps
	}
	return undone
}

// reachable calls see with every content that the array may have had: after each subset
// of the actions, in any order. whole is true if the subset includes all actions that
// succeeded. It stops when see returns true.
func reachable(c content, actions []action, outcomes []outcome, see func(c content, whole bool) bool) bool {
	whole := !slices.Contains(outcomes, done)
	if see(c, whole) {
		return true
	}
	for i, f := range outcomes {
		if f == undone {
			continue
		}
		rest := slices.Clone(outcomes)
		rest[i] = undone
		if next, can := actions[i].model(c); can && reachable(next, actions, rest, see) {
			return true
		}
	}
	return false
}

// chooser decides which program runs next, and what happens to its operation.
type chooser struct {
	choose func(n int) int
	fault  func(kinds int) int // 0 is none
}

// randomly returns a chooser that makes random choices. One operation in twelve gets a
// fault, as long as faults are permitted.
func randomly(r *rand.Rand) chooser {
	return chooser{r.IntN, func(kinds int) int {
		if r.IntN(12) > 0 {
			return noFault
		}
		return r.IntN(kinds)
	}}
}

// Kinds of faults.
const (
	noFault = iota
	refuse
	lose
	crash
	loseAndCrash
	delay         // the request arrives later, and the program gets no answer
	delayAndCrash // the request arrives after the program has crashed
	repeat        // the request arrives twice, and the program gets the second answer
)

// faultsOfPrograms are the kinds of faults in a network that delivers requests once.
// faultsOfNetworks are those of one that does not.
var (
	faultsOfPrograms = []int{noFault, refuse, lose, crash, loseAndCrash}
	faultsOfNetworks = []int{noFault, refuse, lose, delay, delayAndCrash, repeat, crash}
)

// kinds returns the kinds of faults that may happen.
func (r *run) kinds() []int {
	if r.wire != nil {
		return faultsOfNetworks
	}
	return faultsOfPrograms
}

// bounds limit the interrupts and faults of one run.
type bounds struct{ interrupts, faults int }

// generation numbers the runners, so that each has unique names.
var generation atomic.Int64

// run is one run of a scene.
type run struct {
	*scene
	prompt  bool
	store   stepping.ObjectStore
	stepper *stepping.Stepper
	wire    *wire // nil if requests are delivered once
	died    []bool
	saw     []zarr.Block[int32]
}

// stallTime is the longest time that a run may take. Two keys of different programs may
// share a lock of this process, so programs may wait for each other. Such a run is
// discarded.
const stallTime = 3 * time.Second

// runner plays scenes, one at a time.
type runner struct {
	name     string // prefix of the names of its programs
	newStore func() stepping.ObjectStore
	prompt   bool // no program is interrupted between a fence and the write that it is for
	warm     bool // every program has published before
	unsafe   bool // requests may be delivered late and twice, and drivers repeat them
}

func newRunner(newStore func() stepping.ObjectStore, prompt bool) *runner {
	return &runner{name: fmt.Sprint(generation.Add(1)), newStore: newStore, prompt: prompt}
}

// play runs the scene once and checks the result.
func (p *runner) play(s *scene, b bounds, by chooser) (stepping.Trace, error) {
	inner := p.newStore()
	if err := s.set(inner); err != nil {
		return nil, err
	}
	r := &run{scene: s, prompt: p.prompt, store: inner, died: make([]bool, len(s.actions))}
	if shared := inner; p.unsafe {
		r.wire, shared = newWire(inner)
		r.stepper = stepping.NewStepper(shared)
	} else {
		r.stepper = stepping.NewStepper(inner)
	}
	defer r.stepper.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	watchdog := time.AfterFunc(stallTime, cancel)
	defer watchdog.Stop()
	for i, d := range s.actions {
		r.stepper.Start(func(stepped store.Store) error {
			name := fmt.Sprintf("%s%s-%d", programPrefix, p.name, i)
			view := &process{direct: inner, stepped: stepped.(stepping.ObjectStore), quiet: neverWritten, name: name, repeats: p.unsafe}
			a, err := zarr.At(view.store(), name+"/a").OpenArray(ctx, &zarr.Options{Write: d.model != nil, Concurrency: 1})
			if err != nil {
				return err
			}
			if p.warm && d.model != nil && !d.plain {
				if err := publishAgain(ctx, a); err != nil {
					return err
				}
			}
			view.begun.Store(true)
			return d.do(ctx, a, func(b zarr.Block[int32]) { r.saw = append(r.saw, b) })
		})
	}
	r.drive(b, by)
	if ctx.Err() != nil {
		p.name = fmt.Sprint(generation.Add(1))
		return nil, nil
	}
	return r.stepper.Trace(), r.judge()
}

// publishAgain publishes the document of an array as it is.
func publishAgain(ctx context.Context, a *zarr.Array) error {
	return a.UpdateAttributes(ctx, func(object []byte) ([]byte, error) { return object, nil })
}

// neverWritten reports whether a key is only read: the document of the group above the
// array, or a journal that does not exist.
func neverWritten(name string) bool {
	return name == "zarr.json" || name == ".zmetadata" || strings.HasPrefix(name, "a/__varve/")
}

// drive steps the programs until all have ended, as [stepping.Stepper.Finish] does, and
// injects faults.
func (r *run) drive(b bounds, by chooser) {
	last := -1
	for {
		ready := r.stepper.Ready()
		if len(ready) == 0 {
			r.wire.deliver(all)
			return
		}
		if r.wire.hasLate() && by.choose(4) == 1 {
			r.wire.deliver(1)
		}
		at := slices.Index(ready, last)
		switch {
		case at < 0:
			last = ready[by.choose(len(ready))]
		case b.interrupts != 0 && !(r.prompt && r.hasFence(last)):
			ready = slices.Insert(slices.Delete(ready, at, at+1), 0, last)
			if next := ready[by.choose(len(ready))]; next != last {
				last = next
				b.interrupts--
			}
		}
		kind := noFault
		if b.faults > 0 {
			kinds := r.kinds()
			kind = kinds[by.fault(len(kinds))]
		}
		if kind != noFault {
			b.faults--
		}
		r.turn(last, kind)
	}
}

// hasFence reports whether program i is about to write a chunk directly after it wrote
// or checked the document. A fence whose answer is lost is found by reading the document.
func (r *run) hasFence(i int) bool {
	op, ok := r.stepper.Next(i)
	if !ok || op.Name != "PutIf" || isDocument(op.Key) {
		return false
	}
	var own []stepping.Op // of the program, the last one first
	for _, turn := range slices.Backward(r.stepper.Trace()) {
		if turn.Client == i {
			own = append(own, turn.Op)
		}
	}
	if len(own) > 1 && own[0].Name == "Get" {
		own = own[1:]
	}
	return len(own) > 0 && isDocument(own[0].Key) && own[0].Name != "Get"
}

// isDocument reports whether a key is that of the document of an array.
func isDocument(k store.Key) bool { return k.Base() == "zarr.json" || k.Base() == ".zarray" }

func (r *run) turn(i, kind int) {
	switch kind {
	case refuse:
		r.stepper.Refuse(i)
	case lose:
		r.stepper.Lose(i)
	case loseAndCrash:
		r.died[i] = true
		r.stepper.Lose(i)
		r.stepper.Crash(i)
	case crash:
		r.died[i] = true
		r.stepper.Crash(i)
	case delay, delayAndCrash, repeat:
		r.wire.fault = kind
		r.stepper.Step(i)
		if r.wire.fault = noFault; kind == delayAndCrash {
			r.died[i] = true
			r.stepper.Crash(i)
		}
	default:
		r.stepper.Step(i)
	}
}

// judge checks that the array agrees with the results that the programs got, that
// readers saw only published states, and that the array can be appended to.
func (r *run) judge() error {
	outcomes := make([]outcome, len(r.actions))
	var told []string
	for i, d := range r.actions {
		err := r.stepper.Err(i)
		if outcomes[i] = outcomeOf(err, r.died[i]); d.model == nil {
			if outcomes[i] = undone; err != nil && !isFault(err) {
				return fmt.Errorf("the reader: %w", err)
			}
		}
		if d.plain && err != nil {
			outcomes[i] = perhaps
		}
		told = append(told, fmt.Sprintf("%s: %v (%v)", d.name, outcomes[i], err))
		if err != nil && !isFault(err) && !r.permits(err) {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	was := content{r.spec.Shape, r.old, "{}"}
	for i := range r.saw {
		if !reachable(was, r.actions, outcomes, func(c content, _ bool) bool { return c.begins(r.saw[i]) }) {
			return fmt.Errorf("a reader saw %v, which was never published\n%s", r.saw[i], strings.Join(told, "\n"))
		}
	}
	is, err := contentOf(r.store)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, strings.Join(told, "\n"))
	}
	if !reachable(was, r.actions, outcomes, func(c content, whole bool) bool { return whole && c.equal(is) }) {
		return fmt.Errorf("the array has %v, which the results do not permit\n%s", is, strings.Join(told, "\n"))
	}
	return r.goOn(is)
}

// permits reports whether a program may get this error without a fault of the store: its
// region no longer exists, or concurrent writers always came first. Backing off does not
// help a program here, because it waits for its turn anyway.
func (r *run) permits(err error) bool {
	if errors.Is(err, zarr.ErrConflict) {
		overtaken.Add(1)
		return true
	}
	return errors.Is(err, zarr.ErrInvalidArgument) || errors.Is(err, zarr.ErrOutcomeUnknown)
}

// overtaken counts the programs that gave up because concurrent writers always came
// first.
var overtaken atomic.Int64

// rarely checks that few programs gave up.
func rarely(t *testing.T, runs int64) {
	t.Helper()
	n := overtaken.Swap(0)
	if t.Logf("%d runs, %d programs gave up", runs, n); n > 1+runs/200 {
		t.Errorf("%d runs, %d programs gave up, want at most %d", runs, n, 1+runs/200)
	}
}

func isFault(err error) bool {
	return errors.Is(err, stepping.ErrRefused) || errors.Is(err, stepping.ErrLost) || errors.Is(err, stepping.ErrCrashed)
}

// goOn appends along every axis as a new program.
func (r *run) goOn(is content) error {
	ctx := context.Background()
	a, err := zarr.At(r.store, "a").OpenArray(ctx, &zarr.Options{Write: true, Concurrency: 1})
	for axis := range is.shape {
		if err != nil {
			break
		}
		plane := slices.Clone(is.shape)
		plane[axis] = 3
		data := fixture.Numbers(900, int32(fixture.Count(plane)))
		if err = zarr.Append(ctx, a, axis, data, nil); err == nil {
			is, _ = is.appended(axis, data)
		}
	}
	if err != nil {
		return fmt.Errorf("the next append: %w", err)
	}
	if now, err := contentOf(r.store); err != nil || !now.equal(is) {
		return fmt.Errorf("after the next append the array has %v, want %v (%v)", now, is, err)
	}
	return nil
}

// action is what one program does to the array. model returns the content after it, and
// false if the action is impossible; it is nil for a reader.
type action struct {
	name  string
	do    func(ctx context.Context, a *zarr.Array, saw func(zarr.Block[int32])) error
	model func(content) (content, bool)
	plain bool // does not change the document; after an error its outcome is unknown
}

func appends(axis int, data ...int32) action {
	return action{name: fmt.Sprint("append ", data), do: func(ctx context.Context, a *zarr.Array, _ func(zarr.Block[int32])) error {
		return zarr.Append(ctx, a, axis, data, nil)
	}, model: func(c content) (content, bool) { return c.appended(axis, data) }}
}

func resizes(opt *zarr.ResizeOptions, shape ...int64) action {
	return action{name: fmt.Sprint("resize to ", shape), do: func(ctx context.Context, a *zarr.Array, _ func(zarr.Block[int32])) error {
		return a.Resize(ctx, shape, opt)
	}, model: func(c content) (content, bool) { return c.resized(shape...), true }}
}

func writes(at int64, data ...int32) action {
	end := at + int64(len(data))
	return action{name: fmt.Sprintf("write %d at %d", data, at), plain: true, do: func(ctx context.Context, a *zarr.Array, _ func(zarr.Block[int32])) error {
		return zarr.Write(ctx, a, selection.Box{{at, end}}, data)
	}, model: func(c content) (content, bool) {
		if end > c.shape[0] {
			return c, false
		}
		c.rows = slices.Clone(c.rows)
		copy(c.rows[at:], data)
		return c, true
	}}
}

func annotates(attrs string) action {
	return action{name: "attributes " + attrs, do: func(ctx context.Context, a *zarr.Array, _ func(zarr.Block[int32])) error {
		return a.UpdateAttributes(ctx, func([]byte) ([]byte, error) { return []byte(attrs), nil })
	}, model: func(c content) (content, bool) { c.attrs = attrs; return c, true }}
}

func reads(times int) action {
	return action{name: fmt.Sprint("read ", times), do: func(ctx context.Context, a *zarr.Array, saw func(zarr.Block[int32])) error {
		for range times {
			b, err := zarr.Read[int32](ctx, a, nil)
			if err != nil {
				return err
			}
			saw(b)
		}
		return nil
	}}
}

// scene is an array and several programs that use it concurrently.
type scene struct {
	name    string
	spec    zarr.Spec
	old     []int32
	left    map[string]int // chunks that a crashed program left: key and number of elements
	actions []action
}

// set stores the array, and the leftover chunks, in a new store.
func (s *scene) set(inner stepping.ObjectStore) error {
	ctx := context.Background()
	spec := s.spec
	spec.Codecs = fixture.Plain()
	a, err := zarr.At(inner, "a").CreateArray(ctx, spec, &zarr.CreateOptions{Options: zarr.Options{Concurrency: 1}})
	if err == nil && len(s.old) > 0 {
		err = zarr.Write(ctx, a, nil, s.old)
	}
	if err == nil {
		err = publishAgain(ctx, a) // adds the newline of a fence
	}
	for key, n := range s.left {
		left := make([]byte, 4*n)
		for i := range left {
			left[i] = 0xee
		}
		_, putErr := inner.Write(ctx, store.Put(store.MustKey("a/"+key), left), store.Flush)
		err = errors.Join(err, putErr)
	}
	return err
}

// scenes are sets of concurrent programs. Each program appends other elements.
var scenes = []scene{
	{name: "edges", spec: fixture.Edges(2, 1), old: fixture.Numbers(1, 3), actions: []action{appends(0, 101, 102), appends(0, 201), appends(0, 301, 302, 303)}},
	{name: "edges over leftovers", spec: fixture.Edges(2, 1), old: fixture.Numbers(1, 3), left: map[string]int{"c/2": 2, "c/3": 1},
		actions: []action{appends(0, 101, 102), appends(0, 201), appends(0, 301, 302)}},
	{name: "two chunks each", spec: fixture.Every(4, 2), old: fixture.Numbers(1, 4), left: map[string]int{"c/3": 2},
		actions: []action{appends(0, 101, 102, 103), appends(0, 201, 202, 203), appends(0, 301, 302, 303, 304)}},
	{name: "part of a chunk", spec: fixture.Every(6, 4), old: fixture.Numbers(1, 6), actions: []action{appends(0, 101, 102, 103), appends(0, 201), appends(0, 301, 302)}},
	{name: "part of a chunk that is not stored", spec: fixture.Every(6, 4), old: []int32{1, 2, 3, 4, 0, 0},
		actions: []action{appends(0, 101, 102, 103), appends(0, 201), appends(0, 301, 302)}},
	{name: "the same elements", spec: fixture.Every(6, 4), old: fixture.Numbers(1, 6), actions: []action{appends(0, 7, 7, 7), appends(0, 7, 7, 7), appends(0, 7, 7, 7)}},
	{name: "the same chunk", spec: fixture.Edges(2, 1), old: fixture.Numbers(1, 3), actions: []action{appends(0, 7, 7), appends(0, 7, 7), appends(0, 301)}},
	{name: "a grower", spec: fixture.Every(6, 4), old: fixture.Numbers(1, 6), actions: []action{appends(0, 101, 102), resizes(nil, 15), appends(0, 301)}},
	{name: "a grower of edges", spec: fixture.Edges(2, 1), old: fixture.Numbers(1, 3), actions: []action{appends(0, 101, 102), resizes(nil, 6), appends(0, 301)}},
	{name: "a shrinker", spec: fixture.Every(6, 4), old: fixture.Numbers(1, 6), actions: []action{appends(0, 101, 102, 103), resizes(nil, 5), appends(0, 301)}},
	{name: "a shrinker of edges", spec: fixture.Edges(2, 1, 2), old: fixture.Numbers(1, 5), actions: []action{appends(0, 101, 102), resizes(&zarr.ResizeOptions{Shrink: grid.TrimEdges}, 2), appends(0, 301)}},
	{name: "there and back", spec: fixture.Every(6, 4), old: fixture.Numbers(1, 6), actions: []action{appends(0, 101, 102, 103), resizes(nil, 8), resizes(nil, 6)}},
	{name: "attributes", spec: fixture.Every(6, 4), old: fixture.Numbers(1, 6), actions: []action{appends(0, 101, 102, 103), annotates(`{"k":1}`), appends(0, 301)}},
	{name: "a writer at the border", spec: fixture.Every(6, 4), old: fixture.Numbers(1, 6), actions: []action{appends(0, 101, 102, 103), writes(5, 77), appends(0, 301)}},
	{name: "a writer of all of the last chunk", spec: fixture.Every(6, 4), old: fixture.Numbers(1, 6), actions: []action{appends(0, 101, 102, 103), writes(4, 77, 78), appends(0, 301)}},
	{name: "fill values where nothing is stored", spec: fixture.Every(6, 4), old: []int32{1, 2, 3, 4, 0, 0},
		actions: []action{appends(0, 0, 0, 0), appends(0, 201), appends(0, 0)}},
	{name: "a writer of fill values at the border", spec: fixture.Every(6, 4), old: []int32{1, 2, 3, 4, 0, 6},
		actions: []action{appends(0, 0), writes(5, 0), appends(0, 301)}},
	{name: "a reader", spec: fixture.Every(6, 4), old: fixture.Numbers(1, 6), actions: []action{appends(0, 101, 102, 103), reads(2), resizes(nil, 5)}},
	{name: "a reader of edges", spec: fixture.Edges(2, 1, 2), old: fixture.Numbers(1, 5),
		actions: []action{resizes(&zarr.ResizeOptions{Shrink: grid.TrimEdges}, 2), reads(2), appends(0, 101, 102)}},
	{name: "two axes", spec: board(4, 4), old: fixture.Numbers(1, 16), actions: []action{appends(0, fixture.Numbers(101, 16)...), appends(1, fixture.Numbers(201, 16)...)}},
	{name: "two axes, little stored", spec: board(4, 4), old: append(fixture.Numbers(1, 1), make([]int32, 15)...),
		actions: []action{appends(0, fixture.Numbers(101, 16)...), appends(1, fixture.Numbers(201, 16)...)}},
	{name: "two axes and a grower", spec: board(4, 4), old: append(make([]int32, 12), fixture.Numbers(1, 4)...),
		actions: []action{appends(0, fixture.Numbers(101, 4)...), resizes(nil, 7, 7), appends(1, fixture.Numbers(201, 4)...)}},
}

// board is the spec of a rectangle in chunks of three by three.
func board(rows, columns int64) zarr.Spec {
	s := fixture.Every(rows, 3)
	s.Shape, s.Chunks = []int64{rows, columns}, grid.Chunks(3, 3)
	return s
}

// content is the expected content of an array: its elements in a model.
type content struct {
	shape []int64
	rows  []int32
	attrs string
}

func (c content) String() string { return fmt.Sprintf("%v %v %s", c.shape, c.rows, c.attrs) }

// resized returns the content with another shape, with zeros where it grew.
func (c content) resized(shape ...int64) content {
	next := content{shape, make([]int32, fixture.Count(shape)), c.attrs}
	for i := range c.rows {
		if at, ok := offset(index(int64(i), c.shape), shape); ok {
			next.rows[at] = c.rows[i]
		}
	}
	return next
}

// appended returns the content with more elements at the end of an axis. It returns
// false if they do not fit.
func (c content) appended(axis int, data []int32) (content, bool) {
	added := slices.Clone(c.shape)
	added[axis] = 1
	if int64(len(data))%fixture.Count(added) != 0 {
		return content{}, false
	}
	added[axis] = int64(len(data)) / fixture.Count(added)
	shape := slices.Clone(c.shape)
	shape[axis] += added[axis]
	next := c.resized(shape...)
	for i, v := range data {
		at := index(int64(i), added)
		at[axis] += c.shape[axis]
		to, _ := offset(at, shape)
		next.rows[to] = v
	}
	return next, true
}

// index returns the indices of element i in C order.
func index(i int64, shape []int64) []int64 {
	at := make([]int64, len(shape))
	for k := len(shape) - 1; k >= 0; k-- {
		at[k], i = i%shape[k], i/shape[k]
	}
	return at
}

// offset is the inverse of index. It returns false for an index outside the shape.
func offset(at, shape []int64) (i int64, ok bool) {
	for k, n := range shape {
		if at[k] >= n {
			return 0, false
		}
		i = i*n + at[k]
	}
	return i, true
}

// begins reports whether a block equals the start of the content along every axis.
func (c content) begins(b zarr.Block[int32]) bool {
	for i, n := range b.Shape {
		if n > c.shape[i] {
			return false
		}
	}
	return slices.Equal(c.resized(b.Shape...).rows, b.Data)
}

func (c content) equal(d content) bool {
	return slices.Equal(c.shape, d.shape) && slices.Equal(c.rows, d.rows) && c.attrs == d.attrs
}

// contentOf opens and reads the array as a new program.
func contentOf(s store.Store) (content, error) {
	a, err := zarr.At(s, "a").OpenArray(context.Background(), &zarr.Options{Concurrency: 1})
	if err != nil {
		return content{}, err
	}
	b, err := zarr.Read[int32](context.Background(), a, nil)
	return content{a.Shape(), b.Data, fixture.Compact(a.Attributes())}, err
}
