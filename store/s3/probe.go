// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"sync"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
)

// Some services accept requests with conditions and ignore the conditions. A probe finds
// out, with an object of its own. For writes:
//
//  1. Create it on the condition that it does not exist. This must succeed.
//  2. Create it again on the same condition, or replace it on the condition of an ETag
//     that it does not have. This must fail.
//  3. Replace it on the condition of its own ETag. This must succeed: step 2 has not
//     changed the object.
//
// Both kinds of step 2 are probed at the same time, each with an object of its own. If a
// step goes wrong, conditions are never relied
// on. For copies, before the first one: copy it on the condition of an ETag that it does
// not have. This must fail, or else objects are copied by reading and writing. For
// deletions, before the first one on a condition:
//
//  1. Replace it by the same bytes. This must change the ETag; see [Store.put].
//  2. Delete it on the condition of its first ETag. This must fail.
//
// Otherwise they are refused: they could delete what a rival has written. For drafts,
// before the first one: complete an upload on the condition of an ETag that the object
// does not have, and another one after it was found by a listing and aborted. Both must
// fail. A third one must succeed. Otherwise no drafts are made. Every probe
// deletes its object in the end. It stays after a crash, or if the user may not delete
// it, and no listing of this package shows it.

// probePrefix begins the names of the objects of probes.
const probePrefix = "__varve-probe-"

// conditional is a kind of request with a condition.
type conditional int

const (
	writesOnConditions conditional = iota
	revocationsOfUploads
	deletionsOnConditions
	copiesOnConditions
)

// probed identifies a probe.
type probed struct {
	bucket string // see [service.whole]
	kind   conditional
}

// probes has why a kind of request is not safe, or nil, for each probe of this process.
var probes = struct {
	sync.Mutex
	done map[probed]error
}{done: map[probed]error{}}

// found returns what the probe has found, if it is known.
func (p probed) found() (bad error, known bool) {
	probes.Lock()
	defer probes.Unlock()
	bad, known = probes.done[p]
	return bad, known
}

// whole identifies the bucket.
func (v *service) whole() string { return v.options.Endpoint + " " + v.bucket }

// needs returns an error that wraps [store.ErrUnsupported] if the service ignores the
// conditions of a kind of request.
func (s *Store) needs(ctx context.Context, kind conditional) error {
	switch {
	case s.options.Conditions == TrustConditions, s.options.Conditions == ProbeConditions && s.options.Endpoint == "":
		return nil
	case s.options.Conditions == NoConditions:
		return fmt.Errorf("%s: %w: the options say that the service does not support conditions of writes", s.name(call{}), store.ErrUnsupported)
	}
	// Where conditions of writes do not hold, no others are tried.
	for _, kind := range slices.Compact([]conditional{writesOnConditions, kind}) {
		bad, err := s.found(ctx, kind)
		if err != nil {
			return err
		}
		if bad != nil {
			return fmt.Errorf("%s: %w: %w", s.name(call{}), store.ErrUnsupported, bad)
		}
	}
	return nil
}

// found returns why a kind of request is not safe, or nil. An error means that the probe
// could not find out.
func (s *Store) found(ctx context.Context, kind conditional) (bad, err error) {
	p := probed{s.whole(), kind}
	if bad, known := p.found(); known {
		return bad, nil
	}
	// One probe at a time is enough: the others wait for what it finds.
	select {
	case probing <- struct{}{}:
		defer func() { <-probing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if bad, known := p.found(); known {
		return bad, nil
	}
	bad, err = s.probe(ctx, kind)
	for tries := 1; tries < mostProbes && unsure(err); tries++ {
		bad, err = s.probe(ctx, kind)
	}
	if err != nil {
		return nil, err
	}
	probes.Lock()
	defer probes.Unlock()
	probes.done[p] = bad
	return bad, nil
}

// probing is held during a probe.
var probing = make(chan struct{}, 1)

// mostProbes is how often a probe begins anew because the outcome of a write is unknown.
const mostProbes = 5

// unsure reports whether the outcome of a write of a probe is unknown, because of a fault
// that another attempt may not meet.
func unsure(err error) bool {
	return driver.IsTemporary(err) && (errors.Is(err, errUnmet) || errors.Is(err, errForgotten) || errors.Is(err, errUnseen))
}

// probe finds out whether the service honours conditions of a kind of request. If not,
// that is the first result. An error means that it could not.
func (s *Store) probe(ctx context.Context, kind conditional) (bad, err error) {
	switch kind {
	case copiesOnConditions:
		return s.probeWith(ctx, func(name, _ string) (error, error) { return s.mustNotCopy(ctx, name) })
	case revocationsOfUploads:
		return s.probeWith(ctx, func(name, tag string) (error, error) { return s.mustRevoke(ctx, name, tag) })
	case deletionsOnConditions:
		return s.probeWith(ctx, func(name, tag string) (bad, err error) {
			if bad, err = s.mustChange(ctx, name, tag); bad != nil || err != nil {
				return bad, err
			}
			return s.mustNotDelete(ctx, name, tag)
		})
	}
	type result struct{ bad, err error }
	var results [2]result
	var all sync.WaitGroup
	for i, c := range []condition{{none: anyVersion}, {match: wrongTag}} {
		all.Go(func() {
			r := &results[i]
			r.bad, r.err = s.probeWith(ctx, func(name, tag string) (bad, err error) {
				if bad, err = s.mustFail(ctx, name, c); bad != nil || err != nil {
					return bad, err
				}
				if _, err := s.put(ctx, name, pieces{[]byte("second")}, condition{match: tag}); err != nil {
					return found("the service refuses a write whose condition holds", err)
				}
				return nil, nil
			})
		})
	}
	all.Wait()
	for _, r := range results {
		if r.bad != nil || r.err != nil {
			return r.bad, r.err
		}
	}
	return nil, nil
}

// probeWith calls try with the name and the ETag of a new object, and deletes it.
func (s *Store) probeWith(ctx context.Context, try func(name, tag string) (bad, err error)) (bad, err error) {
	name := s.prefix + probePrefix + newMark()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), aborting)
		defer cancel()
		_ = s.remove(ctx, name) // what was found counts without it
	}()
	first, err := s.put(ctx, name, pieces{[]byte("first")}, condition{none: anyVersion})
	switch {
	case errors.Is(err, store.ErrUnsupported):
		return err, nil
	case err != nil:
		return nil, fmt.Errorf("probing whether conditions of writes hold: %w", err)
	}
	tag, _ := cut(first)
	return try(name, tag)
}

// wrongTag is the ETag of no object.
const wrongTag = `"00000000000000000000000000000000"`

// found decides what the failure of a request of a probe means: the service has answered
// that it does not do this, which is the first result and stays so, or the probe has
// failed.
func found(what string, err error) (bad, failed error) {
	f := (*failure)(nil)
	answered := errors.As(err, &f) && !f.unrelated() && !f.foreign
	// Expired credentials are an answer 400, which has no code for HEAD.
	if answered && f.status == http.StatusBadRequest && (f.code == "" || f.code == "BadRequest") {
		answered = false
	}
	if answered || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrUnsupported) {
		return fmt.Errorf("%s: %v", what, err), nil
	}
	return nil, fmt.Errorf("probing which conditions the service honours: %w", err)
}

// mustChange replaces the object, which has an ETag, by the same bytes. If that keeps the
// ETag, that is the first result.
func (s *Store) mustChange(ctx context.Context, name, tag string) (bad, err error) {
	const what = "the service does not replace an object by the same bytes"
	if _, err = s.put(ctx, name, pieces{[]byte("first")}, condition{match: tag}); err != nil {
		return found(what, err)
	}
	after, err := s.head(ctx, name)
	if err != nil {
		return found(what, err)
	}
	if tag == join(after.tag, "") {
		return errors.New("an object that is replaced by the same bytes keeps its ETag, so a deletion could hit the object of another writer"), nil
	}
	return nil, nil
}

// mustNotCopy copies on a condition that does not hold. If the service copies, or does
// not know conditions, that is the first result.
func (s *Store) mustNotCopy(ctx context.Context, name string) (bad, err error) {
	target := name + "-copy"
	_, _, err = s.copyObject(ctx, target, set(http.Header{}, copyHeader, s.copied(name), copyMatchHeader, wrongTag))
	if f := (*failure)(nil); errors.As(err, &f) && f.unmet() {
		return nil, nil
	}
	if err != nil {
		return found("the service does not support conditions of copies", err)
	}
	return errors.New("the service ignores the conditions of copies"), s.remove(ctx, target)
}

// mustRevoke publishes drafts of an object, which has an ETag: on a condition that does
// not hold, after a revocation, and one that holds.
func (s *Store) mustRevoke(ctx context.Context, name, tag string) (bad, err error) {
	for _, c := range []struct {
		match   string
		revoked bool
		bad     string // "" if it must succeed
	}{
		{wrongTag, false, "the service ignores the conditions of completed uploads"},
		{tag, true, "the service does not list uploads, or completes those that were aborted"},
		{tag, false, ""},
	} {
		u, err := s.newDraft(ctx, name, []byte("draft"))
		if err == nil && c.revoked {
			err = s.revoke(ctx, name, "")
		}
		if err == nil {
			_, err = u.complete(ctx, condition{match: c.match})
		}
		if u != nil {
			u.abort(ctx)
		}
		switch {
		case err == nil && c.bad != "":
			return errors.New(c.bad), nil
		case c.bad != "" && (errors.Is(err, store.ErrConflict) || errors.Is(err, errRevoked)):
		case errors.Is(err, fs.ErrPermission): // the caller may not ask
			return nil, fmt.Errorf("probing whether uploads can be revoked: %w", err)
		case err != nil:
			return found("the service does not support conditions of uploads", err)
		}
	}
	return nil, nil
}

// mayCopy reports whether the service copies objects and checks their versions.
func (s *Store) mayCopy(ctx context.Context) (bool, error) {
	err := s.needs(ctx, copiesOnConditions)
	if errors.Is(err, store.ErrUnsupported) {
		return false, nil
	}
	return err == nil, err
}

// mustFail writes on a condition that does not hold. If the service writes, or does not
// know conditions, that is the first result.
func (s *Store) mustFail(ctx context.Context, name string, c condition) (bad, err error) {
	header := "If-Match"
	if c.none != "" {
		header = "If-None-Match"
	}
	switch _, err := s.put(ctx, name, pieces{[]byte("wrong")}, c); {
	case err == nil:
		return fmt.Errorf("the service ignores %s, so concurrent writers would lose data", header), nil
	// Nobody else writes the object, so its mark is sure.
	case errors.Is(err, store.ErrConflict), errors.Is(err, errUnmet):
		return nil, nil
	case errors.Is(err, store.ErrUnsupported):
		return err, nil
	default:
		return nil, fmt.Errorf("probing whether the service honours %s: %w", header, err)
	}
}

// mustNotDelete deletes on a condition that does not hold. If the service deletes, or
// does not know conditions, that is the first result.
func (s *Store) mustNotDelete(ctx context.Context, name, tag string) (bad, err error) {
	q := request{call: call{"DeleteObject", name}, method: http.MethodDelete, header: condition{match: tag}.header(http.Header{})}
	_, err = s.repeat(ctx, q, nil)
	if f := (*failure)(nil); errors.As(err, &f) && f.unmet() {
		return nil, nil
	}
	if err != nil {
		return found("the service does not support conditions of deletions", err)
	}
	return errors.New("the service ignores the conditions of deletions"), nil
}
