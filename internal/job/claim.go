// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/lease"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/sharing"
	"varve.dev/zarr/store"
)

// Taking configures [Worker.Take]. The zero value is usable.
type Taking struct {
	// Of is the number of parts that the tasks of each stage are divided into; it must be
	// the same for all workers. 0 is 1,000. There are never more than tasks.
	Of int64
	// Lease is how long the claim of a worker may stay as it is until others take it
	// over; it must be about the same for all workers. A worker renews its claim three
	// times in that time. 0 is a minute.
	Lease time.Duration
	// Attempts is how often a worker tries a task that fails; 0 is 3.
	Attempts int
	// Done, if not nil, is called after each task of this worker, and from time to time
	// while it waits for others, with the number of tasks of the stage that are done.
	Done func(stage int, done, of int64)
}

// usual are the defaults of [Taking].
var usual = Taking{Of: 1000, Lease: lease.Usual, Attempts: 3}

// orUsual returns the settings with their defaults.
func (t Taking) orUsual() Taking {
	if t.Of == 0 {
		t.Of = usual.Of
	}
	if t.Lease == 0 {
		t.Lease = usual.Lease
	}
	if t.Attempts == 0 {
		t.Attempts = usual.Attempts
	}
	return t
}

// pauses returns the first and the longest time between looks at what others do.
func (t Taking) pauses() (first, longest time.Duration) {
	longest = min(t.Lease/4, 5*time.Second)
	return longest / 64, longest
}

// claim is the value of a claim.
type claim struct {
	Worker   string `json:"worker"`
	Attempts int    `json:"attempts"`
	// Renewed counts renewals, so that each gives the value another version.
	Renewed int64 `json:"renewed"`
	// Secret tells the claims of a worker from those of others with the same name.
	Secret uint64 `json:"secret"`
}

// Take takes tasks of all stages, one after the other, until all are done, and waits at
// the end of a stage for those of others. Any number of workers may do so, anywhere, and
// may come and go.
//
// A claim is a value beside the plan, which a worker stores only where there is none. The
// worker renews its claim while it works. If a claim stays the same for the time of a
// lease, by the clock of another worker, the other worker takes the claim over. So clocks
// need not agree. A worker that was only slow leaves the task when it cannot renew its
// claim. Until then two workers execute the task, which is harmless.
//
// If a task fails, the worker executes other tasks, and returns the error at the end.
//
// The store of the plan must have conditional writes; otherwise the error wraps
// [store.ErrUnsupported], and fixed tasks ([Worker.Do]) are the way.
func (w *Worker) Take(ctx context.Context, how Taking) error {
	how = how.orUsual()
	if how.Of < 1 || how.Of > MostTaken || how.Lease < 0 || how.Attempts < 0 {
		return fmt.Errorf("%w: %s, a lease of %v, %s", zarr.ErrInvalidArgument, quantity.Count(how.Of, "parts"), how.Lease, quantity.Count(how.Attempts, "attempts"))
	}
	if err := w.folder.open(ctx); err != nil {
		return err
	}
	for round := 1; ; round++ {
		err := w.takeAll(ctx, how)
		if !errors.Is(err, sharing.ErrUnfinished) || round == mostRounds {
			return errors.Join(err, w.Leave())
		}
		// The source has changed since an earlier stage was done. Another worker may have
		// begun again already, so look first, and then forget what was done. Tasks that
		// are still valid are found to be done.
		if round%2 == 1 {
			continue
		}
		if err := w.forgetDone(ctx); err != nil {
			return errors.Join(err, w.Leave())
		}
	}
}

// MostTaken bounds [Taking.Of].
const MostTaken = 1 << 20

// mostRounds bounds how often the stages are begun because the source has changed.
const mostRounds = 8

// takeAll takes the tasks of all stages.
func (w *Worker) takeAll(ctx context.Context, how Taking) error {
	for stage := range w.plan.Stages() {
		t := &taker{
			Worker: w, how: how, stage: stage, of: min(how.Of, max(1, w.plan.Tasks(stage))), seen: map[int64]sight{}, failed: map[int64]error{},
		}
		if err := t.run(ctx); err != nil {
			return err
		}
	}
	return nil
}

// taker takes tasks of one stage.
type taker struct {
	*Worker
	how   Taking
	stage int
	of    int64
	done  map[int64]bool
	seen  map[int64]sight // claims of others, by task
	// failed are tasks that this worker has tried often enough. Others may succeed.
	failed map[int64]error
}

// sight is when a version of a claim was seen first.
type sight struct {
	version store.Version
	since   time.Time
}

// mostConflicts is how many claims in a row may turn out to be taken until the store is
// listed again.
const mostConflicts = 8

// run takes tasks until all are done.
func (t *taker) run(ctx context.Context) error {
	pause, longest := t.how.pauses()
	for {
		free, err := t.look(ctx)
		if err != nil || int64(len(t.done)) == t.of {
			return err
		}
		if err := t.isOver(); err != nil {
			return err
		}
		worked, err := t.takeFrom(ctx, free)
		if err != nil {
			return err
		}
		if worked {
			pause, _ = t.how.pauses()
			continue
		}
		if err := lease.Sleep(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, longest)
	}
}

// isOver returns the error of the first task that has failed, if all others are done.
func (t *taker) isOver() error {
	maps.DeleteFunc(t.failed, func(k int64, _ error) bool { return t.done[k] })
	if len(t.failed) == 0 || int64(len(t.done)+len(t.failed)) < t.of {
		return nil
	}
	return t.failed[slices.Min(slices.Collect(maps.Keys(t.failed)))]
}

// look lists what is done and claimed, and returns the tasks that may be taken, with the
// versions of the claims that are to be taken over.
func (t *taker) look(ctx context.Context) (free []listed, err error) {
	done, err := t.folder.list(ctx, recordsDir, false)
	if err != nil {
		return nil, err
	}
	t.done = map[int64]bool{}
	for _, d := range done {
		if d.Stage == t.stage && d.Of == t.of {
			t.done[d.Number] = true
		}
	}
	t.tell()
	claims, err := t.folder.list(ctx, claimsDir, true)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	taken := map[int64]listed{}
	for _, c := range claims {
		if c.Stage == t.stage && c.Of == t.of && !t.done[c.Number] {
			taken[c.Number] = c
		}
	}
	for k := range t.of {
		c, claimed := taken[k]
		switch {
		case t.done[k]:
			delete(t.seen, k)
		case t.failed[k] != nil:
		case !claimed:
			delete(t.seen, k)
			free = append(free, listed{Task: Task{t.stage, k, t.of}})
		case t.expired(c, now):
			free = append(free, c)
		}
	}
	return free, nil
}

// tell reports how many tasks are done.
func (t *taker) tell() {
	if t.how.Done != nil {
		t.how.Done(t.stage, int64(len(t.done)), t.of)
	}
}

// expired reports whether the claim of another worker was not renewed for a lease.
func (t *taker) expired(c listed, now time.Time) bool {
	s, known := t.seen[c.Number]
	if !known || s.version != c.version {
		t.seen[c.Number] = sight{c.version, now}
		return false
	}
	return now.Sub(s.since) >= t.how.Lease
}

// takeFrom executes free tasks, from a random one on, until there are too many that
// others have taken. It reports whether it has executed any.
func (t *taker) takeFrom(ctx context.Context, free []listed) (worked bool, err error) {
	conflicts := 0
	if len(free) == 0 {
		return false, nil
	}
	first := rand.IntN(len(free))
	for i := range free {
		next := free[(first+i)%len(free)]
		mine, err := t.claim(ctx, next)
		if err != nil {
			return worked, err
		}
		if mine == nil {
			if conflicts++; conflicts == mostConflicts {
				return worked, nil
			}
			continue
		}
		conflicts, worked = 0, true
		done, err := t.execute(ctx, mine)
		switch {
		case ctx.Err() != nil || errors.Is(err, sharing.ErrUnfinished):
			return worked, err
		case err != nil:
			t.failed[next.Number] = fmt.Errorf("%v: %w", next.Task, err)
		case done:
			t.done[next.Number] = true
			t.tell()
		}
	}
	return worked, nil
}

// held is a claim of this worker.
type held struct {
	claim
	task    Task
	version store.Version
}

// claim claims a task. It returns nil if another worker was faster.
func (t *taker) claim(ctx context.Context, next listed) (*held, error) {
	h := &held{task: next.Task, claim: claim{Worker: ownName(), Attempts: 1, Secret: rand.Uint64()}}
	cond := store.IfAbsent()
	if next.version != (store.Version{}) {
		var was claim
		version, err := t.folder.get(ctx, claimsDir, next.Task, mostRecord, &was)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil // its worker has given it up
		case err != nil && !isDamaged(err):
			return nil, err
		case version != next.version:
			return nil, nil // it was renewed
		}
		h.Attempts += was.Attempts
		cond = store.IfVersion(next.version)
	}
	err := t.put(ctx, h, cond)
	if errors.Is(err, store.ErrConflict) {
		return nil, nil
	}
	return h, err
}

// put stores a claim of this worker.
func (t *taker) put(ctx context.Context, h *held, cond store.Condition) error {
	raw, err := json.Marshal(h.claim)
	if err != nil {
		return err
	}
	version, err := store.Write(ctx, t.folder.store, store.PutIf(t.folder.key(claimsDir, h.task), raw, cond), store.Flush)
	if err == nil {
		h.version = version.Version
	}
	return err
}

// errTaken means that another worker has taken over a claim of this one.
var errTaken = errors.New("another worker has taken the task over")

// execute executes a claimed task, and renews the claim meanwhile. It returns false if
// another worker has taken the task over.
func (t *taker) execute(ctx context.Context, h *held) (done bool, err error) {
	within, cancel := context.WithCancelCause(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		t.renew(within, h, cancel)
	}()
	r, err := t.try(within, h.task)
	cancel(nil)
	<-renewed
	switch {
	case errors.Is(context.Cause(within), errTaken):
		return false, nil // that one does it
	case err != nil:
		// Others may try at once. If the claim stays, they wait for a lease.
		_, _ = store.Write(store.Finishing(ctx), t.folder.store, store.DeleteIf(t.folder.key(claimsDir, h.task), h.version), store.Sync)
		return false, err
	}
	r.Attempts += h.Attempts - 1
	return true, t.putRecord(ctx, r)
}

// renew renews a claim until the context ends. If another worker has taken the claim
// over, it cancels the task.
func (t *taker) renew(ctx context.Context, h *held, cancel context.CancelCauseFunc) {
	lease.Keep(ctx, t.how.Lease, func(ctx context.Context) bool {
		h.Renewed++
		err := t.put(ctx, h, store.IfVersion(h.version))
		if errors.Is(err, store.ErrConflict) && !t.isOwn(ctx, h) {
			cancel(errTaken)
			return false
		}
		return true // after any other error the next renewal tries again
	})
}

// isOwn reports whether a claim may still be that of this worker, although it has another
// version: an earlier renewal may have been stored without an answer.
func (t *taker) isOwn(ctx context.Context, h *held) bool {
	var now claim
	version, err := t.folder.get(ctx, claimsDir, h.task, mostRecord, &now)
	switch {
	case errors.Is(err, fs.ErrNotExist) || isDamaged(err):
		return false
	case err != nil:
		return true // the next renewal looks again
	case now.Secret != h.Secret:
		return false
	}
	h.version = version
	return true
}

// isDamaged reports whether a value is no JSON of the expected form, as after a power
// cut.
func isDamaged(err error) bool {
	var syntax *json.SyntaxError
	var form *json.UnmarshalTypeError
	return errors.As(err, &syntax) || errors.As(err, &form)
}

// try executes a task, several times if it fails.
func (t *taker) try(ctx context.Context, task Task) (*Record, error) {
	for attempt := 1; ; attempt++ {
		r, err := t.Worker.do(ctx, task)
		if err == nil {
			r.Attempts = attempt
		}
		if err == nil || attempt == t.how.Attempts || ctx.Err() != nil || errors.Is(err, sharing.ErrUnfinished) || errors.Is(err, zarr.ErrInvalidArgument) || errors.Is(err, fs.ErrExist) {
			return r, err
		}
		_, longest := t.how.pauses()
		if err := lease.Sleep(ctx, longest/2*time.Duration(attempt)); err != nil {
			return nil, err
		}
	}
}
