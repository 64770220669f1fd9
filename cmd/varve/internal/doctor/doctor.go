// SPDX-License-Identifier: Apache-2.0

// Package doctor finds out what holds in a store: which promises it keeps that safe
// writing relies on, and how fast it is.
package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"varve.dev/zarr/store"
)

// Outcome is the result of a probe.
type Outcome string

// The outcomes.
const (
	Holds   Outcome = "yes"
	Fails   Outcome = "no"      // the store breaks the promise, or lacks the power
	Unknown Outcome = "unknown" // the probe could not be made
)

// Finding is the result of one probe.
type Finding struct {
	Name    string  `json:"name"`    // such as "create_only"
	Title   string  `json:"title"`   // for people
	Outcome Outcome `json:"outcome"` //
	Note    string  `json:"note"`    // the error, or what the outcome means; may be ""
}

// Report is what a doctor has found.
type Report struct {
	Findings []Finding `json:"findings"`
	Latency  []Latency `json:"latency"`
	Rates    []Rate    `json:"throughput"`
	// Limited is whether the store adapts how many requests are in flight by a limit of
	// its own, which applies to Rates.
	Limited bool     `json:"throughput_limited"`
	Advice  []string `json:"advice"`
}

// Of returns the outcome of the probe with a name, Unknown if there was none.
func (r *Report) Of(name string) Outcome {
	for _, f := range r.Findings {
		if f.Name == name {
			return f.Outcome
		}
	}
	return Unknown
}

// Options configure an examination. The zero Options measure nothing.
type Options struct {
	// Bytes is the size of the value that throughput is measured with, at most MostBytes;
	// 0 measures none.
	Bytes int64
	// Rounds is the number of requests that a latency is measured with; 0 measures none.
	Rounds int
}

// doctor examines a store.
type doctor struct {
	s      store.Store
	dir    store.Path // of the probe values; nothing else is below it
	report *Report
	values map[store.Key]bool
}

// Examine probes a store below a path. It writes values below a new folder there, whose
// name begins with "__varve-doctor-", and deletes them. The error is that of the first
// write, without which there is nothing to examine, or that of the deletion.
func Examine(ctx context.Context, s store.Store, at store.Path, o Options) (_ *Report, err error) {
	dir, err := at.Join("__varve-doctor-" + rand.Text()[:8])
	if err != nil {
		return nil, err
	}
	d := &doctor{s: s, dir: dir, report: new(Report), values: map[store.Key]bool{}}
	if _, err := d.put(ctx, "first", value(1)); err != nil {
		_ = d.clean(context.WithoutCancel(ctx)) // the store may have the value all the same
		return nil, fmt.Errorf("writing a probe value: %w", err)
	}
	defer func() { err = errors.Join(err, d.clean(context.WithoutCancel(ctx))) }()
	for _, p := range probes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d.add(p.name, p.title, p.run(ctx, d))
	}
	if err := d.measure(ctx, o); err != nil {
		return nil, err
	}
	d.advise()
	return d.report, nil
}

// result is what a probe returns: an outcome, and a note.
type result struct {
	outcome Outcome
	note    string
}

// holds returns the result of a promise that is kept, or of a probe that failed.
func holds(err error) result {
	if err != nil {
		return result{Unknown, err.Error()}
	}
	return result{outcome: Holds}
}

// fails returns the result of a broken promise.
func fails(format string, args ...any) result { return result{Fails, fmt.Sprintf(format, args...)} }

func (d *doctor) add(name, title string, r result) {
	d.report.Findings = append(d.report.Findings, Finding{name, title, r.outcome, r.note})
}

// key returns the key of a probe value, which is deleted at the end.
func (d *doctor) key(name string) store.Key {
	k := d.dir.MustKey(name)
	d.values[k] = true
	return k
}

func (d *doctor) put(ctx context.Context, name string, value []byte) (store.Version, error) {
	k := d.key(name)
	if !store.Can(d.s, store.OpPut) {
		return store.Version{}, fmt.Errorf("%w: it can only be read", store.ErrUnsupported)
	}
	made, err := store.Write(ctx, d.s, store.Put(k, value), store.Sync)
	return made.Version, err
}

// get returns a probe value.
func (d *doctor) get(ctx context.Context, name string, r store.Range) ([]byte, store.Info, error) {
	return d.s.Get(ctx, d.key(name), store.Request{Range: r}, nil)
}

// clean deletes the probe values.
func (d *doctor) clean(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var failed error
	for k := range d.values {
		if _, err := store.Write(ctx, d.s, store.Delete(k), store.Sync); err != nil && failed == nil {
			failed = fmt.Errorf("deleting the probe values below %s: %w", d.dir, err)
		}
	}
	return failed
}

// value returns a probe value, another one for each n.
func value(n byte) []byte {
	v := make([]byte, 1000)
	for i := range v {
		v[i] = byte(i)*7 ^ n
	}
	return v
}

// advise adds what follows from the findings.
func (d *doctor) advise() {
	r := d.report
	add := func(text string) { r.Advice = append(r.Advice, text) }
	locked := r.Of("locks") == Holds
	swaps := r.Of("create_only") == Holds && r.Of("compare_and_swap") == Holds
	if locked || swaps {
		add("Several programs may append to one array and write to its chunks at once.")
	} else {
		add("Let only one program write at a time, and say so with --single-writer: this store cannot tell writers apart.")
	}
	if !locked && swaps && r.Of("conditional_delete") == Fails {
		add("Superseded chunks and those of writers that crashed stay until varve vacuum --single-writer, beside which no other program may write: the store does not delete on conditions.")
	}
	if !locked && r.Of("conditional_delete") == Holds && r.Of("delete_race") == Fails {
		add("Do not shrink arrays or run varve vacuum beside writers: a deletion can hit what was just written.")
	}
	if r.Of("list") == Fails {
		add("Consolidate the metadata of groups (varve consolidate): their members cannot be listed.")
	}
	if r.Of("read_after_write") == Fails || r.Of("list_after_write") == Fails {
		add("Do not write living arrays to this store, and look for a cache before it: reads and listings lag behind writes.")
	}
	if r.Of("deletes") == Fails {
		add("Pass --missing 403 if this user may read but not list, and store every chunk (StoreFill).")
	}
	if r.Of("ranges") == Fails {
		add("Do not use shards: every read of an inner chunk transfers the whole shard.")
	}
}
