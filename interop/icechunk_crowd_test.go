// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/arrays"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/azure"
	"varve.dev/zarr/store/azure/azuretest"
	_ "varve.dev/zarr/store/gcs"
	"varve.dev/zarr/store/gcs/gcstest"
	"varve.dev/zarr/store/s3/s3test"
)

// committerName is the environment variable that makes the test program a committer.
const committerName = "VARVE_TEST_COMMITTER"

// TestMain runs the tests, or a committer.
func TestMain(m *testing.M) {
	text := os.Getenv(committerName)
	if text == "" {
		os.Exit(m.Run())
	}
	var c committer
	err := json.Unmarshal([]byte(text), &c)
	if err == nil {
		err = c.run(context.Background())
	}
	if err != nil {
		fmt.Println("wrong", 0, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// blockLength is the number of elements that one commit writes: too many for a chunk
// that is stored in its reference.
const blockLength = 200

// committer is a program that commits to the branch main, each time in one of three ways.
type committer struct {
	Location string
	Number   int
	From, To int // its commits
}

// commitKinds are the ways: an append to the array of all, which is repeated, a chunk of
// an array of its own, which is rebased, and one by a commit that begins anew itself.
var commitKinds = []string{"append", "rebase", "retry"}

// kind returns the way of one commit.
func (c committer) kind(n int) string { return commitKinds[(c.Number+n)%len(commitKinds)] }

// message returns the message of a commit.
func (c committer) message(n int) string { return fmt.Sprintf("%s %d %d", c.kind(n), c.Number, n) }

// array returns the path of the array of a committer.
func (c committer) array() string { return fmt.Sprint("own", c.Number) }

// block returns the elements of a commit.
func (c committer) block(n int) []int32 {
	return slices.Repeat([]int32{int32(1 + c.Number*100_000 + n)}, blockLength)
}

// run makes the commits, and prints a line after each.
func (c committer) run(ctx context.Context) error {
	s, root, err := store.OpenPlain(ctx, c.Location, store.ReadWrite)
	if err != nil {
		return err
	}
	r, err := icechunk.Open(ctx, s, root, nil)
	for tries := 0; err != nil && tries < 20; tries++ { // faults come before the first commit, too
		r, err = icechunk.Open(ctx, s, root, nil)
	}
	if err != nil {
		return err
	}
	for n := c.From; n < c.To; n++ {
		said := "done"
		for {
			err := c.commit(ctx, r, n)
			// A collection of no age takes what a session has stored before.
			if errors.Is(err, icechunk.ErrCollected) && !errors.Is(err, zarr.ErrOutcomeUnknown) {
				continue
			}
			if err != nil {
				said = "error"
			}
			if _, err := fmt.Println(said, n, oneLine(err)); err != nil {
				return err
			}
			break
		}
	}
	return r.Close()
}

func oneLine(err error) string {
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// commit makes one commit.
func (c committer) commit(ctx context.Context, r *icechunk.Repository, n int) error {
	message, said := c.message(n), map[string]any{"writer": fmt.Sprint("varve ", c.Number)}
	if c.kind(n) == "append" {
		_, err := r.Change(ctx, "main", message, func(ctx context.Context, s *icechunk.Session) error {
			a, err := zarr.At(s, "all").OpenArray(ctx, &zarr.Options{Write: true})
			if err != nil {
				return err
			}
			return errors.Join(zarr.Append(ctx, a, 0, c.block(n), nil), s.SetMetadata(said))
		})
		return err
	}
	for {
		s, err := r.Session(ctx, "main")
		if err != nil {
			return err
		}
		a, err := zarr.At(s, c.array()).OpenArray(ctx, &zarr.Options{Write: true})
		if err != nil {
			return err
		}
		err = errors.Join(zarr.Write(ctx, a, selection.Basic{selection.Stepped(int64(n*blockLength), int64((n+1)*blockLength), 1)}, c.block(n)), s.SetMetadata(said))
		if err != nil {
			return err
		}
		if c.kind(n) == "rebase" {
			_, err = s.CommitRebased(ctx, message, icechunk.Policy{})
			return err
		}
		_, err = s.Commit(ctx, message)
		if conflict := (*icechunk.ConflictError)(nil); !errors.As(err, &conflict) {
			return err
		}
	}
}

// crowd is a repository to which many commit at once.
type crowd struct {
	t        *testing.T
	location string
	each     int  // commits of each committer
	faults   bool // commits may fail
	*icechunk.Repository

	mu      sync.Mutex
	acked   map[string]bool // messages
	tried   map[string]bool // messages that were not acknowledged
	collect chan struct{}   // one for each tenth commit
}

// newCrowd makes a repository with an array for each committer, and one for all.
func newCrowd(t *testing.T, location string, committers, each int) *crowd {
	t.Helper()
	ctx := t.Context()
	s, root, err := store.OpenPlain(ctx, location, store.Create)
	check(t, err)
	r, err := icechunk.Create(ctx, s, root, nil)
	check(t, err)
	t.Cleanup(func() { check(t, r.Close()) })
	session, err := r.Session(ctx, "main")
	check(t, err)
	spec := zarr.Spec{Type: dtype.Int32, Codecs: []metadata.Extension{codec.Bytes("little")}}
	for i := range committers {
		spec.Shape, spec.Chunks = []int64{int64(each * blockLength)}, grid.Chunks(blockLength)
		_, err := zarr.At(session, committer{Number: i}.array()).CreateArray(ctx, spec, nil)
		check(t, err)
	}
	spec.Shape, spec.Chunks = []int64{0}, []grid.Cut{grid.Edges(blockLength)}
	_, err = zarr.At(session, "all").CreateArray(ctx, spec, nil)
	check(t, err)
	_, err = session.Commit(ctx, "arrays")
	check(t, err)
	c := &crowd{t: t, each: each, acked: map[string]bool{}, tried: map[string]bool{}, collect: make(chan struct{}, 1)}
	c.open(location)
	return c
}

// open opens the repository at a location.
func (c *crowd) open(location string) {
	c.t.Helper()
	s, root, err := store.OpenPlain(c.t.Context(), location, store.ReadWrite)
	check(c.t, err)
	c.Repository, err = icechunk.Open(c.t.Context(), s, root, nil)
	check(c.t, err)
	c.t.Cleanup(func() { _ = store.Close(s) }) // it was used to the end
	c.location = location
}

// ack notes that a commit was acknowledged, or that its outcome is not known.
func (c *crowd) ack(message string, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !done {
		c.tried[message] = true
		return
	}
	if c.acked[message] = true; len(c.acked)%10 == 0 {
		select {
		case c.collect <- struct{}{}:
		default: // one is under way
		}
	}
}

// process runs a committer in a process of its own, and another one after it if it is
// killed.
func (c *crowd) process(number int, kills int) {
	for next := 0; next < c.each; {
		is := committer{c.location, number, next, c.each}
		text, err := json.Marshal(is)
		check(c.t, err)
		cmd := exec.CommandContext(c.t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), committerName+"="+string(text), "GOMAXPROCS=1")
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			c.t.Error(err)
			return
		}
		var death *time.Timer
		if kills > 0 {
			death = time.AfterFunc(50*time.Millisecond+rand.N(1200*time.Millisecond), func() { _ = cmd.Process.Kill() }) // it may have ended
		}
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var said string
			var n int
			if _, err := fmt.Sscan(lines.Text(), &said, &n); err != nil || n != next || said != "done" && (said != "error" || !c.faults) {
				c.t.Errorf("committer %d says %q", number, lines.Text())
				_ = cmd.Process.Kill()
				break
			}
			if said == "error" {
				c.t.Log(lines.Text())
			}
			c.ack(is.message(n), said == "done")
			next++
		}
		err = cmd.Wait()
		if death != nil {
			death.Stop()
		}
		switch {
		case next == c.each:
		case kills > 0:
			// It may have made its next commit, and could not tell.
			c.ack(is.message(next), false)
			next++
			kills--
		default:
			c.t.Errorf("committer %d has ended before its commit %d: %v", number, next, err)
			return
		}
	}
}

// collecting calls collect after each tenth commit, with the number of calls before,
// until the result is called.
func (c *crowd) collecting(collect func(n int) error) (end func()) {
	done := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		n := 0
		defer func() { c.t.Logf("garbage was collected (times: %d)", n) }()
		for ; ; n++ {
			select {
			case <-done:
				return
			case <-c.collect:
			}
			if err := collect(n); err != nil && !c.faults {
				c.t.Error(err)
			}
		}
	})
	return func() {
		close(done)
		all.Wait()
	}
}

// collectGarbage collects garbage of an age.
func (c *crowd) collectGarbage(age time.Duration) error {
	report, err := c.CollectGarbage(c.t.Context(), &icechunk.GarbageOptions{OlderThan: age})
	if err == nil && report.Chunks.Objects > 0 {
		c.t.Logf("a collection has deleted %+v", report.Chunks)
	}
	return err
}

// judge expects each acknowledged commit once in the history, others at most once, the
// elements that the history says, and nothing wrong or left over in the store.
func (c *crowd) judge() {
	t := c.t
	t.Helper()
	var history []icechunk.Commit
	for one, err := range c.Log(t.Context(), "main") {
		check(t, err)
		history = append(history, one)
	}
	slices.Reverse(history)
	found := map[string]bool{}
	var all []int32
	own := map[string][]int32{}
	for i, one := range history {
		if i > 0 && (one.Parent != history[i-1].ID || !one.Time.After(history[i-1].Time)) {
			t.Errorf("%v does not follow %v", one, history[i-1])
		}
		kind, rest, _ := strings.Cut(one.Message, " ")
		if !slices.Contains(commitKinds, kind) {
			continue
		}
		by, n := committer{}, 0
		if _, err := fmt.Sscan(rest, &by.Number, &n); err != nil || found[one.Message] || !c.acked[one.Message] && !c.tried[one.Message] {
			t.Errorf("%q is there, and was tried %t (twice: %t)", one.Message, c.tried[one.Message], found[one.Message])
			continue
		}
		found[one.Message] = true
		said, err := one.Metadata()
		check(t, err)
		if writer, _ := said["writer"].(string); !strings.HasSuffix(writer, fmt.Sprint(" ", by.Number)) {
			t.Errorf("%q is of %v", one.Message, said)
		}
		if kind == "append" {
			all = append(all, by.block(n)...)
			continue
		}
		if own[by.array()] == nil {
			own[by.array()] = make([]int32, c.each*blockLength)
		}
		copy(own[by.array()][n*blockLength:], by.block(n))
	}
	for message := range c.acked {
		if !found[message] {
			t.Errorf("the commit %q was acknowledged and is lost", message)
		}
	}
	t.Logf("commits: %d, acknowledged: %d, of an unknown outcome: %d", len(found), len(c.acked), len(c.tried))
	own["all"] = all
	for path, want := range own {
		a, err := zarr.OpenArray(t.Context(), nodeOf(c.location, path), nil)
		check(t, err)
		got, err := zarr.Read[int32](t.Context(), a, nil)
		check(t, err)
		if !slices.Equal(got.Data, want) {
			t.Errorf("%s has other elements than its history says (length: %d, want %d)", path, len(got.Data), len(want))
		}
		check(t, a.Close())
	}
	c.tidy()
}

// tidy collects garbage until nothing is left over. Services round times to seconds, so
// what was stored last is old only in the next second.
func (c *crowd) tidy() {
	t := c.t
	t.Helper()
	var is *icechunk.CheckReport
	for range 100 {
		report, err := c.CollectGarbage(t.Context(), &icechunk.GarbageOptions{OlderThan: -1})
		check(t, err)
		is, err = c.Check(t.Context(), nil)
		check(t, err)
		if report.Young == 0 {
			t.Logf("at the end, garbage is %+v, %+v, %+v, %+v", report.Snapshots, report.Transactions, report.Manifests, report.Chunks)
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	for _, f := range is.Findings {
		t.Errorf("%+v", f)
	}
	for folder, left := range is.Orphans {
		if left.Objects > 0 {
			t.Errorf("%s has objects that collections have missed: %+v", folder, left)
		}
	}
}

// nodeOf returns the location of a node on the branch main of a repository.
func nodeOf(location, path string) string {
	text, query, hasQuery := strings.Cut(location, "?")
	text = "icechunk+" + text + "@main/" + path
	if hasQuery {
		text += "?" + query
	}
	return text
}

// crowdPlaces are stores for a crowd. Each returns the URL of its server, "" for none,
// and a function that makes a location.
var crowdPlaces = map[string]func(t *testing.T) (server string, at func(server string) string){
	"files": func(t *testing.T) (string, func(string) string) {
		return "", func(string) string { return "file://" + t.TempDir() }
	},
	"versitygw": func(t *testing.T) (string, func(string) string) {
		s := s3test.Gateway(t, false)
		bucket := s.Bucket(t)
		return s.URL, func(server string) string { return (&s3test.Service{URL: server}).Location(bucket, "repo") }
	},
	"Google": func(t *testing.T) (string, func(string) string) {
		_, endpoint := gcstest.Serve(t)
		return endpoint, func(server string) string { return "gs://bucket/repo?anon=true&endpoint=" + server }
	},
	"Azure": func(t *testing.T) (string, func(string) string) {
		_, endpoint := azuretest.Serve(t)
		return endpoint, func(server string) string {
			return "az://acme/box/repo?" + url.Values{"endpoint": {server}, "account_key": {azuretest.Key}}.Encode()
		}
	},
	"fake-gcs-server": func(t *testing.T) (string, func(string) string) {
		endpoint := arrays.Emulator(t, "fake-gcs-server", "fake-gcs-server", func(port string) []string {
			return []string{"-scheme", "http", "-host", "127.0.0.1", "-port", port, "-backend", "memory", "-log-level", "error"}
		})
		r, err := http.Post(endpoint+"/storage/v1/b?project=p", "application/json", strings.NewReader(`{"name":"bucket"}`))
		check(t, err)
		check(t, r.Body.Close())
		return endpoint, func(server string) string { return "gs://bucket/repo?anon=true&endpoint=" + server }
	},
	"Azurite": func(t *testing.T) (string, func(string) string) {
		const account, key = "devstoreaccount1", "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==" // of all who use it
		endpoint := arrays.Emulator(t, "azurite-blob", "azurite", func(port string) []string {
			return []string{"--blobHost", "127.0.0.1", "--blobPort", port, "--silent", "--skipApiVersionCheck", "--inMemoryPersistence", "--disableTelemetry"}
		})
		check(t, azure.CreateContainer(t.Context(), account, "box", &azure.Options{Endpoint: endpoint + "/" + account, Key: key}))
		return endpoint, func(server string) string {
			return "az://" + account + "/box/repo?" + url.Values{"endpoint": {server + "/" + account}, "account_key": {key}}.Encode()
		}
	},
}

// TestIcechunkCrowd lets processes commit to one repository, while garbage of no age is
// collected and some of them are killed.
func TestIcechunkCrowd(t *testing.T) {
	racing.Skip(t)
	for _, name := range slices.Sorted(maps.Keys(crowdPlaces)) {
		t.Run(name, func(t *testing.T) {
			server, at := crowdPlaces[name](t)
			newCrowd(t, at(server), committersOf(t), fixture.Soaked(t, 6, 40)).live()
		})
	}
}

// TestIcechunkCrowdWithFaults is [TestIcechunkCrowd] behind a proxy that does harm to
// requests, such as to lose their answers.
func TestIcechunkCrowdWithFaults(t *testing.T) {
	racing.Skip(t)
	for _, name := range slices.Sorted(maps.Keys(crowdPlaces)) {
		if name == "files" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			server, at := crowdPlaces[name](t)
			front, harm := arrays.Harmful(t, server, 20)
			c := newCrowd(t, at(front), committersOf(t), fixture.Soaked(t, 6, 40))
			c.faults = true
			harm(true)
			c.work()
			harm(false)
			// After wrong dates, a client takes objects for younger, for minutes.
			c.open(at(server))
			c.judge()
		})
	}
}

func committersOf(t *testing.T) int { return min(16, fixture.Soaked(t, 4, 16)) }

// live lets all work, and judges the result.
func (c *crowd) live() {
	c.work()
	c.judge()
}

// work lets all committers work. Half of them are killed now and then.
func (c *crowd) work() {
	end := c.collecting(func(int) error { return c.collectGarbage(-1) })
	var all sync.WaitGroup
	for i := range committersOf(c.t) {
		all.Go(func() { c.process(i, i%2*(1+c.each/10)) })
	}
	all.Wait()
	end()
}
