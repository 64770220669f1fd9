// SPDX-License-Identifier: Apache-2.0

package icechunk_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/store"
)

// configOf returns the configuration of a repository, and its last update.
func configOf(t testing.TB, s store.Store) (config map[string]any, last format.Update) {
	t.Helper()
	data, _, err := s.Get(t.Context(), store.MustKey("repo"), store.Request{}, nil)
	try(t, err)
	_, body, err := format.Open(data, format.KindRepository, 1<<20)
	try(t, err)
	repo, err := format.ParseRepository(body)
	try(t, err)
	if repo.Config == nil {
		return nil, repo.Updates[0]
	}
	v, err := format.ParseFlex(repo.Config)
	try(t, err)
	return v.(map[string]any), repo.Updates[0]
}

// TestContainers adds and removes containers. The rest of the configuration stays.
func TestContainers(t *testing.T) {
	s := configuredStore(t, map[string]any{"inline_chunk_threshold_bytes": 13, "previous_file": "größe", "storage": map[string]any{"concurrency": nil}})
	r := opened(t, s)
	for location, want := range map[string]string{
		"file:///data/raw%20files": `file:///data/raw files/ map[local_file_system:/data/raw files]`,
		"s3://bucket":              `s3://bucket/ map[s3:map[allow_http:false anonymous:false checksum_algorithm:<nil> endpoint_url:<nil> force_path_style:false network_stream_timeout_seconds:<nil> region:<nil> requester_pays:false]]`,
		"s3://bucket/a/?endpoint=http://127.0.0.1:9000&region=eu-1&anon=true": `s3://bucket/a/ map[s3_compatible:map[allow_http:true anonymous:true checksum_algorithm:<nil> endpoint_url:http://127.0.0.1:9000 force_path_style:true network_stream_timeout_seconds:<nil> region:eu-1 requester_pays:false]]`,
		"s3://other?secret_access_key=x&session_token=y":                      `s3://other/ map[s3:map[allow_http:false anonymous:false checksum_algorithm:<nil> endpoint_url:<nil> force_path_style:false network_stream_timeout_seconds:<nil> region:<nil> requester_pays:false]]`,
		"gs://bucket/a":                  `gs://bucket/a/ map[gcs:map[]]`,
		"az://place/a?account_name=ada":  `az://place/a/ map[azure:map[account:ada]]`,
		"https://data.example/files/raw": `https://data.example/files/raw/ map[http:map[]]`,
	} {
		added, err := r.AddContainer(t.Context(), location)
		try(t, err)
		if !added {
			t.Errorf("%s is not added", location)
		}
		config, last := configOf(t, s)
		prefix, place, _ := strings.Cut(want, "/ map[")
		prefix, place = prefix+"/", "map["+place
		is, _ := config["virtual_chunk_containers"].(map[string]any)[prefix].(map[string]any)
		if fmt.Sprint(is["store"]) != place || is["url_prefix"] != prefix || is["name"] != nil || last.Kind != format.ConfigChanged {
			t.Errorf("%s: %v, want %s", location, is, want)
		}
	}
	config, _ := configOf(t, s)
	if fmt.Sprintln(config["inline_chunk_threshold_bytes"], config["previous_file"], config["storage"]) != "13 größe map[concurrency:<nil>]\n" {
		t.Errorf("%v", config)
	}
	before, _, err := s.Get(t.Context(), store.MustKey("repo"), store.Request{}, nil)
	try(t, err)
	added, err := r.AddContainer(t.Context(), "gs://bucket/a/")
	try(t, err)
	if added {
		t.Error("a container that is there is added")
	}
	after, _, err := s.Get(t.Context(), store.MustKey("repo"), store.Request{}, nil)
	if err != nil || !slices.Equal(before, after) {
		t.Error("a container that is there is added again")
	}
	try(t, r.RemoveContainer(t.Context(), "s3://bucket/"))
	if err := r.RemoveContainer(t.Context(), "s3://bucket/"); !errors.Is(err, icechunk.ErrNoReference) {
		t.Error(err)
	}
	try(t, r.RemoveContainer(t.Context(), "file:///data/raw%20files"))
	if list, err := r.Containers(t.Context()); err != nil || len(list) != 5 || slices.Contains(list, "s3://bucket/") || !slices.Contains(list, "s3://bucket/a/") {
		t.Error(list, err)
	}
	commit(t, stage(t, r, "main", "a", 0), "a")
	sound(t, opened(t, s))
	for _, location := range []string{
		"/data", "data", "s3:///a", "s3://bucket?colour=x", "ftp://host/a", "az://place/a", "file:///data/../etc", "file:///data?region=x", "gs://user:secret@bucket",
		"s3://bucket?endpoint=http://user:secret@127.0.0.1:9000", "s3://bucket?endpoint=https://host/?token=user:secret", "s3://bucket?endpoint=127.0.0.1:9000",
	} {
		if _, err := r.AddContainer(t.Context(), location); !errors.Is(err, zarr.ErrInvalidArgument) || strings.Contains(err.Error(), "user:secret") {
			t.Errorf("%s: %v", location, err)
		}
	}
	// The answer to the change is lost.
	l := opened(t, &lossy{Store: s, lost: 1})
	try(t, l.RemoveContainer(t.Context(), "gs://bucket/a/"))
	l = opened(t, &lossy{Store: s, lost: 1})
	_, err = l.AddContainer(t.Context(), "gs://bucket/a/")
	try(t, err)
}

// configuredStore returns a store with a repository that is configured.
func configuredStore(t testing.TB, config map[string]any) store.Store {
	t.Helper()
	_, s := created(t)
	key := store.MustKey("repo")
	data, _, err := s.Get(t.Context(), key, store.Request{}, nil)
	try(t, err)
	_, body, err := format.Open(data, format.KindRepository, 1<<20)
	try(t, err)
	repo, err := format.ParseRepository(body)
	try(t, err)
	repo.Config, err = format.EncodeFlex(config)
	try(t, err)
	data, err = format.Seal("test", format.KindRepository, repo.Encode())
	try(t, err)
	_, err = store.Write(t.Context(), s, store.Put(key, data), store.Flush)
	try(t, err)
	return s
}
