// SPDX-License-Identifier: Apache-2.0

package azure_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/azure"
	"varve.dev/zarr/store/azure/azuretest"
)

// TestEncryptionScope writes blobs in all ways with an encryption scope. The service gets
// it with each write. A copy without a scope of its own keeps that of its source.
func TestEncryptionScope(t *testing.T) {
	f, endpoint := azuretest.Serve(t)
	scoped, _, err := store.OpenLocation(t.Context(), places("acme", "box", "", azuretest.Key)(endpoint, "a")+"&encryption_scope=mine", store.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	s, plain := store.Driver(scoped).(*azure.Store), open(t, endpoint, "x.zarr")
	ctx, large, key := t.Context(), make([]byte, 20<<20), store.MustKey
	_, small := s.Write(ctx, store.Put(key("small"), []byte("v")), store.Sync)
	_, conditional := s.Write(ctx, store.PutIf(key("conditional"), []byte("v"), store.IfAbsent()), store.Sync)
	_, blocks := s.Write(ctx, store.Put(key("blocks"), large), store.Sync)
	_, joined := s.Write(ctx, store.Assemble(key("joined"), []store.Part{{Key: key("blocks"), N: 20 << 20}, {Key: key("small"), N: 1}}), store.Sync)
	f.Lock()
	f.Blobs["x.zarr/source"] = &azuretest.Blob{Value: large, Tag: `"0xa"`, Scope: "other"}
	f.Blobs["x.zarr/empty"] = &azuretest.Blob{Tag: `"0xb"`, Scope: "other"}
	f.Unlock()
	_, clone := s.Write(ctx, store.Clone(key("clone"), key("source"), store.MakeVersion(`"0xa"`)), store.Sync)
	_, kept := plain.Write(ctx, store.Clone(key("kept"), key("source"), store.MakeVersion(`"0xa"`)), store.Sync)
	_, copied := plain.Write(ctx, store.Copy(key("copied"), plain, key("source")), store.Sync)
	_, hollow := plain.Write(ctx, store.Clone(key("hollow"), key("empty"), store.Version{}), store.Sync)
	_, unscoped := plain.Write(ctx, store.Put(key("unscoped"), []byte("v")), store.Sync)
	_, plainCopy := plain.Write(ctx, store.Clone(key("plain"), key("unscoped"), store.Version{}), store.Sync)
	for what, err := range map[string]error{
		"small": small, "conditional": conditional, "blocks": blocks, "joined": joined, "clone": clone, "kept": kept, "copied": copied,
		"hollow": hollow, "unscoped": unscoped, "plain": plainCopy,
	} {
		want, isOther := map[string]string{"kept": "other", "copied": "other", "hollow": "other", "unscoped": "", "plain": ""}[what]
		if !isOther {
			want = "mine"
		}
		if b := f.Blobs["x.zarr/"+what]; err != nil || b == nil || b.Scope != want {
			t.Errorf("%s: %v, want the scope %q", what, err, want)
		}
	}
	if got := f.Blobs["x.zarr/kept"]; len(got.Value) != len(large) {
		t.Errorf("a copy has %d bytes, want %d", len(got.Value), len(large))
	}
	// A version that is not there is a conflict.
	if _, err := s.Write(ctx, store.Clone(key("gone"), key("source"), store.MakeVersion(`"0xc"`)), store.Sync); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a clone of another version: %v", err)
	}
}

// TestWrongKey signs with a key that is not that of the account.
func TestWrongKey(t *testing.T) {
	_, endpoint := azuretest.Serve(t)
	s, err := azure.Open("acme", "box", "", &azure.Options{Endpoint: endpoint, Key: "d3Jvbmc=", Retry: quick})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	_, putErr := s.Write(t.Context(), store.Put(store.MustKey("k"), []byte("v")), store.Sync)
	_, _, getErr := s.Get(t.Context(), store.MustKey("k"), store.Request{}, nil)
	_, statErr := s.Stat(t.Context(), store.MustKey("k"))
	for what, err := range map[string]error{"Put": putErr, "Get": getErr, "Stat": statErr} {
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "AuthenticationFailed") || strings.Contains(err.Error(), "d3Jvbmc=") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
