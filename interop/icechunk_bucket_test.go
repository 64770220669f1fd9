// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/s3/s3test"
)

// TestIcechunkTurnsInBucket is [TestIcechunkTurns] in buckets of versitygw, one of them
// with versioning.
func TestIcechunkTurnsInBucket(t *testing.T) {
	for name, steps := range map[string]int{"plain": fixture.Soaked(t, 20, 200), "versioned": fixture.Soaked(t, 8, 60)} {
		t.Run(name, func(t *testing.T) {
			service := s3test.Gateway(t, name == "versioned")
			bucket := service.Bucket(t)
			if name == "versioned" {
				bucket = service.Versioned(t)
			}
			s := service.Open(t, bucket, "")
			root, err := store.ParsePath("repo")
			check(t, err)
			r, err := icechunk.Create(t.Context(), s, root, nil)
			check(t, err)
			takeTurns(t, r, service.Location(bucket, "repo"), steps)
		})
	}
}

// TestIcechunkMetadata reads what commits of either program say of themselves by the
// other one.
func TestIcechunkMetadata(t *testing.T) {
	dir := t.TempDir()
	r, oracle := emptyRepository(t, dir), startReference(t, dir)
	said := []map[string]any{
		{"author": "ada", "run": 7.0, "big": 1e300, "none": nil, "yes": true, "no": false, "": "no name", "über": "größer\x00"},
		{"nested": map[string]any{"list": []any{1.0, -2.5, "x", []any{}, map[string]any{}}, "a": map[string]any{"b": "c"}}},
		{"numbers": []any{-1.0, 255.0, 65536.0, -9007199254740991.0, 9007199254740991.0}, "text": strings.Repeat("long ", 100)},
	}
	for i, metadata := range said {
		s, err := r.Session(t.Context(), "main")
		check(t, err)
		_, err = zarr.At(s, fmt.Sprint("g", i)).CreateGroup(t.Context(), nil, nil)
		check(t, err)
		check(t, s.SetMetadata(metadata))
		_, err = s.Commit(t.Context(), "of Varve")
		check(t, err)
		var ok any
		oracle.ask(t, map[string]any{"op": "begin", "session": "s", "branch": "main"}, &ok)
		oracle.ask(t, map[string]any{"op": "stage", "session": "s", "changes": staged(fmt.Sprintf("h%d/zarr.json=group", i))}, &ok)
		oracle.ask(t, map[string]any{"op": "commit", "session": "s", "message": "of the reference", "metadata": metadata}, &ok)
	}
	var theirs []map[string]any
	oracle.ask(t, map[string]any{"op": "metadata", "branch": "main"}, &theirs)
	i := 0
	for c, err := range r.Log(t.Context(), "") {
		check(t, err)
		ours, err := c.Metadata()
		check(t, err)
		want := map[string]any{}
		if n := len(said) - 1 - i/2; n >= 0 {
			want = said[n]
		}
		// A number is an int64 here, and JSON makes it what it is there.
		text, err := json.Marshal(ours)
		check(t, err)
		var plain map[string]any
		check(t, json.Unmarshal(text, &plain))
		if !reflect.DeepEqual(theirs[i], want) || len(want) > 0 && !reflect.DeepEqual(plain, want) {
			t.Errorf("%s has %v, and the reference reads %v, want %v", c.Message, plain, theirs[i], want)
		}
		i++
	}
}

// TestIcechunkLongLog has a log of operations in several objects, as many in each as the
// configuration says. Both programs follow it.
func TestIcechunkLongLog(t *testing.T) {
	for _, c := range []struct{ each, steps int }{{1, 8}, {3, 20}, {1000, fixture.Soaked(t, 0, 1010)}} {
		if c.steps == 0 {
			continue
		}
		dir := t.TempDir()
		r, oracle := emptyRepository(t, dir), startReference(t, dir)
		var ok any
		oracle.ask(t, map[string]any{"op": "configure", "updates": c.each}, &ok)
		early, err := r.Session(t.Context(), "main")
		check(t, err)
		_, err = zarr.At(early, "g").CreateGroup(t.Context(), nil, nil)
		check(t, err)
		for i := range c.steps {
			if i%2 == 0 || c.each == 1000 && i%100 != 1 {
				check(t, r.CreateBranch(t.Context(), fmt.Sprint("b", i), ""))
				continue
			}
			oracle.ask(t, map[string]any{"op": "begin", "session": "s", "branch": fmt.Sprint("b", i-1)}, &ok)
			oracle.ask(t, map[string]any{"op": "stage", "session": "s", "changes": staged("zarr.json=group")}, &ok)
			oracle.ask(t, map[string]any{"op": "commit", "session": "s", "message": "m"}, &ok)
		}
		// This one reads the log back to where its session began.
		_, err = early.Commit(t.Context(), "early")
		check(t, err)
		var n int
		oracle.ask(t, map[string]any{"op": "operations_log"}, &n)
		if want := c.steps + 3; n != want { // with those that made and configured it, and the last commit
			t.Errorf("%d in each object: the reference finds %d updates, want %d", c.each, n, want)
		}
		report, err := r.Check(t.Context(), nil)
		check(t, err)
		if len(report.Findings) > 0 {
			t.Errorf("%+v", report.Findings)
		}
	}
}

// TestIcechunkWithoutConditions changes nothing in a bucket of a service that ignores the
// conditions of writes.
func TestIcechunkWithoutConditions(t *testing.T) {
	ignores := false
	service := s3test.Fake(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if ignores {
				r.Header.Del("If-Match")
				r.Header.Del("If-None-Match")
			}
			h.ServeHTTP(w, r)
		})
	})
	bucket := service.Bucket(t)
	_, err := icechunk.Create(t.Context(), service.Open(t, bucket, "sound"), store.Path{}, nil)
	check(t, err)
	// Another bucket of the service is probed anew.
	ignores = true
	s := service.Open(t, service.Bucket(t), "")
	if _, err := icechunk.Create(t.Context(), s, store.Path{}, nil); !errors.Is(err, store.ErrUnsupported) || !strings.Contains(err.Error(), "lose data") {
		t.Errorf("a repository without conditions: %v", err)
	}
	if _, err := icechunk.Open(t.Context(), s, store.Path{}, nil); err == nil {
		t.Error("a repository was made")
	}
	// One that another program has made is read, and not written.
	for e, err := range store.List(t.Context(), service.Open(t, bucket, "sound"), store.Path{}, store.Deep) {
		check(t, err)
		data, _, err := service.Open(t, bucket, "sound").Get(t.Context(), store.MustKey(e.Name), store.Request{}, nil)
		check(t, err)
		_, err = store.Write(t.Context(), s, store.Put(store.MustKey(e.Name), data), store.Sync)
		check(t, err)
	}
	r, err := icechunk.Open(t.Context(), s, store.Path{}, nil)
	check(t, err)
	before, _, err := s.Get(t.Context(), store.MustKey("repo"), store.Request{}, nil)
	check(t, err)
	session, err := r.Session(t.Context(), "main")
	check(t, err)
	_, err = zarr.At(session, "g").CreateGroup(t.Context(), nil, nil)
	check(t, err)
	if _, err := session.Commit(t.Context(), "m"); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("a commit without conditions: %v", err)
	}
	after, _, err := s.Get(t.Context(), store.MustKey("repo"), store.Request{}, nil)
	check(t, err)
	if !bytes.Equal(before, after) {
		t.Error("the commit has changed the repository")
	}
}

// reference commits by the reference as a committer does. If several processes are given,
// each but the last one is killed at some time.
func (c *crowd) reference(number int, list ...*reference) {
	is := committer{c.location, number, 0, c.each}
	kill := func() {
		if p := list[0].process; len(list) > 1 {
			time.AfterFunc(rand.N(2*time.Second), func() { _ = p.Kill() }) // it may have ended
		}
	}
	kill()
	for n := range c.each {
		request := map[string]any{
			"op": "work", "kind": is.kind(n), "name": is.array(), "start": n * blockLength, "values": is.block(n), "message": is.message(n),
			"metadata": map[string]any{"writer": fmt.Sprint("reference ", number)},
		}
		if is.kind(n) == "append" {
			request["name"] = "all"
		}
		var id string
		err := list[0].try(request, &id)
		if err != nil && len(list) > 1 {
			list = list[1:]
			kill()
		} else if err != nil {
			c.t.Errorf("committer %d: %v", number, err)
			return
		}
		c.ack(is.message(n), err == nil)
	}
}

// TestIcechunkCrowdOfBoth lets processes of either program commit to one repository in a
// bucket, while both collect garbage that is older than any session, and one of each is
// killed.
func TestIcechunkCrowdOfBoth(t *testing.T) {
	racing.Skip(t)
	service := s3test.Gateway(t, false)
	location := service.Location(service.Bucket(t), "repo")
	committers := committersOf(t)
	c := newCrowd(t, location, committers, fixture.Soaked(t, 6, 40))
	collector := startReference(t, location)
	end := c.collecting(func(n int) error {
		if n%2 == 0 {
			return c.collectGarbage(30 * time.Second)
		}
		return collector.try(map[string]any{"op": "remove", "before": time.Now().Add(-30 * time.Second).UTC().Format(time.RFC3339)}, nil)
	})
	var all sync.WaitGroup
	for i := range committers {
		if i%2 == 0 {
			all.Go(func() { c.process(i, 1-min(i, 1)) })
			continue
		}
		list := []*reference{startReference(t, location)}
		if i == 1 {
			list = append(list, startReference(t, location))
		}
		all.Go(func() { c.reference(i, list...) })
	}
	all.Wait()
	end()
	c.judge()
}

// TestIcechunkThreePrograms has a Go program and a Python program append to one array in
// a bucket, while a third one compacts it by the command. Every commit is there, both
// programs read the same elements, and the log says who did what.
func TestIcechunkThreePrograms(t *testing.T) {
	racing.Skip(t)
	program := filepath.Join(t.TempDir(), "varve")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = "../cmd/varve"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	varve := func(args ...string) string {
		t.Helper()
		c := exec.Command(program, args...)
		var errs bytes.Buffer
		c.Stderr = &errs
		out, err := c.Output()
		if err != nil {
			t.Errorf("varve %s: %v: %s", args[0], err, &errs)
		}
		return string(out)
	}
	service := s3test.Gateway(t, false)
	location := service.Location(service.Bucket(t), "repo")
	c := newCrowd(t, location, 2, fixture.Soaked(t, 12, 100))
	r := startReference(t, location)
	var all sync.WaitGroup
	all.Go(func() { c.process(0, 0) })
	all.Go(func() { c.reference(1, r) })
	done := make(chan struct{})
	var compacting sync.WaitGroup
	compacting.Go(func() {
		for {
			varve("compact", nodeOf(location, "all"), "--to", fmt.Sprint("max:", 4*blockLength), "--metadata", "writer=upkeep")
			select {
			case <-done:
				return
			default:
			}
		}
	})
	all.Wait()
	close(done)
	compacting.Wait()
	c.judge()
	var theirs map[string][]int32
	r.ask(t, map[string]any{"op": "read", "branch": "main"}, &theirs)
	ours, err := zarr.OpenArray(t.Context(), nodeOf(location, "all"), nil)
	check(t, err)
	got, err := zarr.Read[int32](t.Context(), ours, nil)
	check(t, err)
	if !slices.Equal(theirs["all"], got.Data) || len(got.Data) == 0 {
		t.Errorf("the reference reads another array: %d elements, want %d", len(theirs["all"]), len(got.Data))
	}
	text := varve("icechunk", "log", strings.Replace(nodeOf(location, ""), "@main/", "@main", 1))
	for _, who := range []string{"writer=varve 0", "writer=reference 1", "writer=upkeep"} {
		if !strings.Contains(text, who) {
			t.Errorf("the log does not show %q: %s", who, text)
		}
	}
	if n := strings.Count(text, "varve compact"); n < 2 {
		t.Errorf("%d compactions were committed", n)
	}
	check(t, ours.Close())
}
