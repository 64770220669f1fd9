// SPDX-License-Identifier: Apache-2.0

package icechunk_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/virtual"
)

// fileURL returns the URL of a file.
func fileURL(name string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(name)}).String()
}

// virtualArray makes a repository in a folder, with an array whose second chunk is in a
// file beside it, of the version that a reference names.
func virtualArray(t *testing.T, dir, file string, version icechunk.Virtual) string {
	t.Helper()
	data, err := binary.Append(nil, binary.LittleEndian, numbers(31, 28))
	if err == nil {
		err = os.WriteFile(file, append(make([]byte, 100), data...), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(dir, "repo@home")
	s, err := filestore.Open(repo, &filestore.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := icechunk.Create(t.Context(), s, store.Path{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	session := session(t, r)
	a, err := zarr.At(session, "a").CreateArray(t.Context(), months, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, numbers(0, 59))
	}
	if err == nil {
		version.Location, version.Offset, version.Length = fileURL(file), 100, int64(len(data))
		err = session.SetVirtual(store.MustKey("a/c/1"), version)
	}
	if err != nil {
		t.Fatal(err)
	}
	commit(t, session, "a virtual chunk")
	return "icechunk+file://" + filepath.ToSlash(filepath.Join(dir, "repo%40home")) + "@main"
}

// readAt reads all elements of an array at a location.
func readAt(ctx context.Context, location string) ([]int32, error) {
	a, err := zarr.OpenArray(ctx, location, nil)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	got, err := zarr.Read[int32](ctx, a, nil)
	return got.Data, err
}

// TestVirtual reads a chunk in a file beside the repository if the reader allows the
// folder, and the file is the one that the reference names.
func TestVirtual(t *testing.T) {
	dir, files := t.TempDir(), t.TempDir()
	file := filepath.Join(files, "x.bin")
	location := virtualArray(t, dir, file, icechunk.Virtual{Modified: time.Now()}) + "/a"
	if _, err := readAt(t.Context(), location); !errors.Is(err, virtual.ErrNotAllowed) {
		t.Errorf("without permission: %v", err)
	}
	for name, allowed := range map[string]string{"folder": files, "URL": fileURL(files), "another folder": dir} {
		got, err := readAt(virtual.WithAllowed(t.Context(), allowed), location)
		if name == "another folder" {
			if !errors.Is(err, virtual.ErrNotAllowed) {
				t.Errorf("%s: %v", name, err)
			}
		} else if err != nil || len(got) != 59 || got[58] != 58 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	ctx := virtual.WithAllowed(t.Context(), files)
	later := time.Now().Add(time.Hour)
	for name, change := range map[string]func() error{
		"changed": func() error { return os.Chtimes(file, later, later) },
		"short":   func() error { return os.Truncate(file, 150) },
		"missing": func() error { return os.Remove(file) },
	} {
		virtualArray(t, t.TempDir(), file, icechunk.Virtual{Modified: time.Now()})
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if _, err := readAt(ctx, location); !errors.Is(err, zarr.ErrSourceChanged) || strings.Count(err.Error(), "a/c/1") != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestVirtualTimes refuses a file from the first moment after the second that a reference
// names, as the reference does, also where it names the ETag of a local file.
func TestVirtualTimes(t *testing.T) {
	files := t.TempDir()
	file := filepath.Join(files, "x.bin")
	ctx, scanned := virtual.WithAllowed(t.Context(), files), time.Date(2026, 1, 1, 0, 30, 0, 3e8, time.UTC)
	location := virtualArray(t, t.TempDir(), file, icechunk.Virtual{Modified: scanned}) + "/a"
	etag := fmt.Sprintf("1f-%x-%x", scanned.UnixMicro(), 100+28*4)
	byETag := virtualArray(t, t.TempDir(), file, icechunk.Virtual{ETag: etag}) + "/a"
	for after, want := range map[time.Duration][2]bool{
		0: {true, true}, -time.Hour: {true, false}, 700 * time.Millisecond: {true, false}, 700*time.Millisecond + time.Microsecond: {}, 1200 * time.Millisecond: {}, time.Hour: {},
	} {
		try(t, os.Chtimes(file, scanned.Add(after), scanned.Add(after)))
		for i, location := range []string{location, byETag} {
			if _, err := readAt(ctx, location); want[i] != (err == nil) || err != nil && !errors.Is(err, zarr.ErrSourceChanged) {
				t.Errorf("%v later: %s: %v", after, location, err)
			}
		}
	}
	try(t, os.Chtimes(file, scanned, scanned))
	try(t, os.Truncate(file, 100+28*4+1))
	try(t, os.Chtimes(file, scanned, scanned))
	if _, err := readAt(ctx, byETag); !errors.Is(err, zarr.ErrSourceChanged) {
		t.Errorf("a longer file: %v", err)
	}
}

// TestLocations divides locations.
func TestLocations(t *testing.T) {
	location := virtualArray(t, t.TempDir(), filepath.Join(t.TempDir(), "x"), icechunk.Virtual{})
	at := location[:len(location)-len("@main")]
	for _, good := range []string{at, at + "@main", at + "@branch:main", at + "@main/", at + "@", at + "@%6dain", at + "@1CECHNKREP0F1RSTCMT0", at + "@snapshot:1cechnkrep0f1rstcmt0", at + "@time:2999-01-01"} {
		s, _, err := store.OpenLocation(t.Context(), good, store.ReadOnly)
		if err != nil {
			t.Errorf("%s: %v", good, err)
			continue
		}
		if err := store.Close(s); err != nil {
			t.Error(err)
		}
	}
	for bad, want := range map[string]error{
		at + "@dev": icechunk.ErrNoReference, at + "@tag:main": icechunk.ErrNoReference, at + "@2001-01-01": icechunk.ErrNoReference,
		at + "@1CECHNKREP0F1RSTCMT1": icechunk.ErrNoReference, at + "@main/../x": store.ErrInvalidKey, at + "@%zz": store.ErrInvalidKey,
	} {
		if s, _, err := store.OpenLocation(t.Context(), bad, store.ReadOnly); !errors.Is(err, want) {
			t.Errorf("%s: %v, %v", bad, s, err)
		}
	}
	// Without a path, the branch would be taken for the host.
	for location, want := range map[string]string{"s3://bucket@main/t2m?endpoint=http://127.0.0.1:1": "icechunk+s3://bucket/@main", "gs://bucket@main": "icechunk+gs://bucket/@main"} {
		_, _, _, err := icechunk.ParseLocation("icechunk+" + location)
		if !errors.Is(err, store.ErrInvalidKey) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", location, err)
		}
	}
	for _, location := range []string{"http://ada:secret@host/repo@main/t2m", "s3://ada:secret@bucket/repo@main"} {
		if _, at, _, err := icechunk.ParseLocation("icechunk+" + location); err != nil || at != "main" {
			t.Errorf("%s: %v", location, err)
		}
	}
}
