// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
)

// reference is the reference of Icechunk in a process of its own.
type reference struct {
	in      io.Writer
	out     *bufio.Reader
	process *os.Process
}

// startReference starts the reference on a repository, in a folder or in a bucket.
// Without it, it skips the test.
func startReference(t *testing.T, location string) *reference {
	t.Helper()
	python := interpreter(t)
	if err := exec.Command(python, "-c", "import icechunk; icechunk.__version__").Run(); err != nil {
		t.Skip("there is no icechunk for Python")
	}
	c := exec.Command(python, "-u", "icechunk_oracle.py", location)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	check(t, err)
	out, err := c.StdoutPipe()
	check(t, err)
	check(t, c.Start())
	t.Cleanup(func() {
		// It may end with a signal after the right results.
		_ = in.Close()
		_ = c.Wait()
	})
	r := &reference{in, bufio.NewReader(out), c.Process}
	var version string
	check(t, r.answer(&version))
	t.Log("icechunk", version)
	return r
}

// ask asks for an operation.
func (r *reference) ask(t *testing.T, request map[string]any, answer any) {
	t.Helper()
	check(t, r.try(request, answer))
}

// try asks for an operation, which may fail.
func (r *reference) try(request map[string]any, answer any) error {
	if err := json.NewEncoder(r.in).Encode(request); err != nil {
		return err
	}
	return r.answer(answer)
}

func (r *reference) answer(into any) error {
	line, err := r.out.ReadBytes('\n')
	if err != nil {
		return err
	}
	is := struct {
		OK    json.RawMessage
		Error string
	}{}
	switch err := json.Unmarshal(line, &is); {
	case err != nil:
		return err
	case is.Error != "":
		return errors.New(is.Error)
	case into == nil:
		return nil
	}
	return json.Unmarshal(is.OK, into)
}

// repository is one that Varve and the reference write in turns.
type repository struct {
	*icechunk.Repository
	*reference
	values map[string][]int32 // what each array has
	random *rand.Rand
	log    []string // messages, the last one first
}

// TestIcechunkTurns has Varve and the reference commit to one repository in turns. After
// each commit both find the same arrays, values and commits.
func TestIcechunkTurns(t *testing.T) {
	dir := t.TempDir()
	takeTurns(t, emptyRepository(t, dir), dir, fixture.Soaked(t, 120, 1000))
}

// takeTurns commits by Varve and the reference, which has the repository at a location.
func takeTurns(t *testing.T, r *icechunk.Repository, location string, steps int) {
	t.Helper()
	h := &repository{r, startReference(t, location), map[string][]int32{}, rand.New(rand.NewPCG(7, 9)), []string{"Repository initialized"}}
	for i := range steps {
		if i%40 == 20 {
			// Some arrays have several manifests, of windows that change.
			h.ask(t, map[string]any{"op": "split", "names": "[abc]", "chunks": 1 + i/40%3}, nil)
		}
		message := fmt.Sprintf("step %d", i)
		if h.random.IntN(2) == 0 {
			message += " of the reference: " + h.commitOfReference(t, message)
		} else {
			message += " of Varve: " + h.commitOfVarve(t, message)
		}
		t.Log(message)
		h.compare(t)
	}
}

// name returns the name of an array: one that exists, or any.
func (h *repository) name(exists bool) string {
	if names := slices.Sorted(maps.Keys(h.values)); exists && len(names) > 0 {
		return names[h.random.IntN(len(names))]
	}
	return string(rune('a' + h.random.IntN(6)))
}

// some returns elements.
func (h *repository) some(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = h.random.Int32N(1000)
	}
	return list
}

// commitOfReference commits a change by the reference, and says which.
func (h *repository) commitOfReference(t *testing.T, message string) string {
	t.Helper()
	kind := []string{"create", "create", "write", "write", "append", "append", "append", "delete"}[h.random.IntN(8)]
	if len(h.values) == 0 {
		kind = "create"
	}
	name, values := h.name(kind != "create"), h.some(1+h.random.IntN(300))
	request := map[string]any{"op": "change", "branch": "main", "kind": kind, "name": name, "message": message}
	switch kind {
	case "create":
		first := 1 + h.random.IntN(len(values))
		chunks := []int{first}
		if first < len(values) {
			chunks = append(chunks, len(values)-first)
		}
		request["chunks"] = [][]int{chunks}
		h.values[name] = values
	case "write":
		start := h.random.IntN(len(h.values[name]))
		values = values[:min(len(values), len(h.values[name])-start)]
		request["start"] = start
		h.values[name] = slices.Replace(slices.Clone(h.values[name]), start, start+len(values), values...)
	case "append":
		h.values[name] = append(slices.Clone(h.values[name]), values...)
	case "delete":
		values = []int32{}
		delete(h.values, name)
	}
	request["values"] = values
	var id string
	h.ask(t, request, &id)
	h.log = append([]string{message}, h.log...)
	return kind + " " + name
}

// commitOfVarve commits a change by Varve, and says which.
func (h *repository) commitOfVarve(t *testing.T, message string) string {
	t.Helper()
	ctx := t.Context()
	kind := []string{"create", "create", "write", "append", "append", "compact", "compact", "drop", "delete"}[h.random.IntN(9)]
	if len(h.values) == 0 {
		kind = "create"
	}
	s, err := h.Session(ctx, "main")
	check(t, err)
	name, values := h.name(kind != "create"), h.some(1+h.random.IntN(300))
	at := zarr.At(s, name)
	var a *zarr.Array
	if kind != "create" {
		a, err = at.OpenArray(ctx, &zarr.Options{Write: true})
		check(t, err)
	}
	switch is := h.values[name]; kind {
	case "create":
		codecs := []metadata.Extension{codec.Bytes("little")}
		if h.random.IntN(3) == 0 { // shards of inner chunks with one element
			sharding, err := codec.Shards(codec.Sharding{Inner: []grid.Cut{grid.Every(1)}, Codecs: codecs})
			check(t, err)
			codecs, kind = []metadata.Extension{sharding}, "create sharded"
		}
		a, err = at.CreateArray(ctx, zarr.Spec{
			Shape: []int64{int64(len(values))}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(int64(len(values)))}, Codecs: codecs,
		}, &zarr.CreateOptions{Overwrite: true})
		check(t, err)
		check(t, zarr.Write(ctx, a, nil, values))
		h.values[name] = values
	case "write":
		start := h.random.IntN(len(is))
		values = values[:min(len(values), len(is)-start)]
		check(t, zarr.Write(ctx, a, selection.Basic{selection.Stepped(int64(start), int64(start+len(values)), 1)}, values))
		h.values[name] = slices.Replace(slices.Clone(is), start, start+len(values), values...)
	case "append":
		check(t, zarr.Append(ctx, a, 0, values, nil))
		h.values[name] = append(slices.Clone(is), values...)
	case "compact":
		if _, err = rechunk.Do(ctx, a, rechunk.Compaction{Axis: 0, UpTo: 200}, nil); err == nil {
			break
		}
		check(t, err)
	case "drop":
		n := 1 + h.random.IntN(len(is))
		if n == len(is) {
			n--
		}
		if n > 0 {
			_, err := rechunk.Do(ctx, a, rechunk.Removal{Axis: 0, Range: grid.Interval{Stop: int64(n)}}, nil)
			check(t, err)
			h.values[name] = is[n:]
		}
	case "delete":
		check(t, at.Delete(ctx, &zarr.Options{Write: true}))
		delete(h.values, name)
	}
	switch _, err := s.Commit(ctx, message); {
	case err == nil:
		h.log = append([]string{message}, h.log...)
	case strings.Contains(err.Error(), icechunk.ErrNothing.Error()):
	default:
		t.Fatal(kind, name, err)
	}
	return kind + " " + name
}

// compare compares what both read.
func (h *repository) compare(t *testing.T) {
	t.Helper()
	var theirs map[string][]int32
	h.ask(t, map[string]any{"op": "read", "branch": "main"}, &theirs)
	if !maps.EqualFunc(theirs, h.values, slices.Equal[[]int32]) {
		t.Fatalf("the reference reads %v, want %v", theirs, h.values)
	}
	s, err := h.Snapshot(t.Context(), "main")
	check(t, err)
	for name, want := range h.values {
		a, err := zarr.At(s, name).OpenArray(t.Context(), nil)
		check(t, err)
		got, err := zarr.Read[int32](t.Context(), a, nil)
		check(t, err)
		if !slices.Equal(got.Data, want) {
			t.Fatalf("%s: %v, want %v", name, got.Data, want)
		}
	}
	var log [][2]string
	h.ask(t, map[string]any{"op": "log", "branch": "main"}, &log)
	var messages []string
	for _, c := range log {
		messages = append(messages, c[1])
	}
	if !slices.Equal(messages, h.log) {
		t.Fatalf("the reference has the commits %q, want %q", messages, h.log)
	}
	i := 0
	for c, err := range h.Log(t.Context(), "main") {
		check(t, err)
		if c.ID.String() != log[i][0] || c.Message != log[i][1] {
			t.Fatalf("commit %d is %v %q, want %q", i, c.ID, c.Message, log[i])
		}
		i++
	}
}
