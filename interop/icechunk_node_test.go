// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/hex"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

//go:embed zarrita/icechunk.js
var icechunkProgram string

// startIcechunkNode starts Icechunk for JavaScript. It skips the test if that is not
// installed, or does not load on this system.
func startIcechunkNode(t *testing.T) *reference {
	t.Helper()
	dir := filepath.Join(cache(), "zarrita")
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("there is no Node; install Node 20 or newer, and run interop/zarrita/setup")
	}
	environment := os.Environ()
	if shim := filepath.Join(dir, "glibc.so"); exists(shim) {
		environment = append(environment, "LD_PRELOAD="+shim)
	}
	load := exec.Command("node", "-e", `require("@earthmover/icechunk")`)
	load.Dir, load.Env = dir, environment
	if err := load.Run(); err != nil {
		t.Skipf("Icechunk for JavaScript does not load (%v); run interop/zarrita/setup", err)
	}
	c := exec.Command("node", "--input-type=module", "--eval", icechunkProgram)
	c.Dir, c.Env, c.Stderr = dir, environment, os.Stderr
	in, err := c.StdinPipe()
	check(t, err)
	out, err := c.StdoutPipe()
	check(t, err)
	check(t, c.Start())
	t.Cleanup(func() { stop(t, in, c) })
	return &reference{in, bufio.NewReader(out), c.Process}
}

// valuesOf returns all values of a branch in hexadecimal, by key.
func valuesOf(t *testing.T, r *icechunk.Repository, branch string) map[string]string {
	t.Helper()
	is, err := r.Snapshot(t.Context(), branch)
	check(t, err)
	found := map[string]string{}
	for e, err := range store.List(t.Context(), is, store.Path{}, store.Deep) {
		check(t, err)
		value, _, err := is.Get(t.Context(), store.MustKey(e.Name), store.Request{}, nil)
		check(t, err)
		found[e.Name] = hex.EncodeToString(value)
	}
	return found
}

// TestIcechunkNode opens a repository of Varve with Icechunk for JavaScript, and one of
// that with Varve. Both find the same keys, documents, chunks and commits, and commit in
// turns.
func TestIcechunkNode(t *testing.T) {
	node := startIcechunkNode(t)
	for _, first := range []string{"Varve", "JavaScript"} {
		t.Run(first, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "repo")
			ask := func(op string, request map[string]any, answer any) {
				t.Helper()
				request["op"], request["folder"], request["branch"] = op, dir, "main"
				node.ask(t, request, answer)
			}
			if first == "JavaScript" {
				ask("log", map[string]any{}, nil)
			}
			s, err := filestore.Open(dir, &filestore.Options{Create: true})
			check(t, err)
			r, err := icechunk.Open(t.Context(), s, store.Path{}, nil)
			if first == "Varve" {
				r, err = icechunk.Create(t.Context(), s, store.Path{}, nil)
			}
			check(t, err)
			defer r.Close()
			compare := func(commits int) {
				t.Helper()
				var theirs map[string]string
				ask("read", map[string]any{}, &theirs)
				if ours := valuesOf(t, r, "main"); !maps.Equal(ours, theirs) {
					t.Errorf("Varve has the keys %q, and JavaScript %q", slices.Sorted(maps.Keys(ours)), slices.Sorted(maps.Keys(theirs)))
				}
				var log, own [][2]string
				ask("log", map[string]any{}, &log)
				for c, err := range r.Log(t.Context(), "main") {
					check(t, err)
					own = append(own, [2]string{c.ID.String(), c.Message})
				}
				if !slices.Equal(log, own) || len(own) != commits {
					t.Errorf("JavaScript has the commits %q, and Varve %q", log, own)
				}
			}
			_, err = r.Change(t.Context(), "main", "of Varve", writeForNode)
			check(t, err)
			compare(2)
			// A copy of an array, with a chunk more, by the other one.
			values := map[string]string{}
			for key, value := range valuesOf(t, r, "main") {
				if name, ok := strings.CutPrefix(key, "g/plain/"); ok {
					values["copy/"+name] = value
				}
			}
			values["copy/c/1"] = values["copy/c/0"]
			ask("commit", map[string]any{"values": values, "message": "of JavaScript"}, nil)
			compare(3)
			is, err := r.Snapshot(t.Context(), "")
			check(t, err)
			a, err := zarr.At(is, "copy").OpenArray(t.Context(), nil)
			check(t, err)
			got, err := zarr.Read[int32](t.Context(), a, nil)
			check(t, err)
			want := append(counted(300), counted(300)...)
			if !slices.Equal(got.Data[:600], want) || !slices.Equal(got.Data[600:], counted(900)[600:]) {
				t.Errorf("the copy is %v", got.Data)
			}
			_, err = r.Change(t.Context(), "main", "of Varve again", appendForNode)
			check(t, err)
			compare(4)
		})
	}
}

// writeForNode makes arrays with chunks of all kinds: in a grid of unequal lengths, in
// shards, compressed, in their references, without axes and without elements.
func writeForNode(ctx context.Context, s *icechunk.Session) error {
	raw := []metadata.Extension{codec.Bytes("little")}
	for name, spec := range map[string]zarr.Spec{
		"months":  {Shape: []int64{900}, Chunks: []grid.Cut{grid.Edges(310, 280, 310)}},
		"g/plain": {Shape: []int64{900}, Chunks: grid.Chunks(300), Codecs: raw, DimensionNames: []string{"time"}},
		"g/shard": {Shape: []int64{900}, Chunks: grid.Chunks(450), InnerChunks: grid.Chunks(90)},
		"g/small": {Shape: []int64{9}, Chunks: grid.Chunks(3), Codecs: raw},
		"scalar":  {Shape: []int64{}},
		"empty":   {Shape: []int64{0}, Chunks: grid.Chunks(3)},
	} {
		spec.Type = dtype.Int32
		a, err := zarr.At(s, name).CreateArray(ctx, spec, nil)
		if err == nil {
			n := 1
			for _, length := range spec.Shape {
				n *= int(length)
			}
			err = zarr.Write(ctx, a, nil, counted(n))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// appendForNode appends a chunk to an array.
func appendForNode(ctx context.Context, s *icechunk.Session) error {
	a, err := zarr.At(s, "g/plain").OpenArray(ctx, &zarr.Options{Write: true})
	if err == nil {
		err = zarr.Append(ctx, a, 0, counted(100), nil)
	}
	return err
}
