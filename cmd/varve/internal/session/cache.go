// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/cached"
	"varve.dev/zarr/store/httpstore"
	"varve.dev/zarr/store/zipstore"
)

// The flags of the cache.
const (
	cacheFlag     = "cache"
	cacheSizeFlag = "cache-size"
	cacheAgeFlag  = "cache-age"
)

// defaultCache is the limit of the cache without --cache-size, in bytes.
const defaultCache = 8 << 30

// cacheVar defines --cache, --cache-size and --cache-age.
func cacheVar(f *pflag.FlagSet) {
	f.String(cacheFlag, "", "keep what is read from remote stores in the folder `DIR`, which commands and programs may share; it is used only for the version that the store has")
	f.Var(new(sizeValue), cacheSizeFlag, "keep at most `SIZE` in the folder of --cache (default: 8 GiB)")
	f.Var(new(patience), cacheAgeFlag, "use cached chunks for `DURATION` without asking the store for their versions; metadata is always current (default: 0)")
}

// cacheKey is the context key of the cache.
type cacheKey struct{}

// openCache opens the cache of --cache, and makes the stores that the command opens use
// it.
func openCache(cmd *cobra.Command) error {
	dir := cmd.Flag(cacheFlag)
	size, _ := cmd.Flag(cacheSizeFlag).Value.(*sizeValue)
	age, _ := cmd.Flag(cacheAgeFlag).Value.(*patience)
	if !dir.Changed {
		if cmd.Flag(cacheSizeFlag).Changed || cmd.Flag(cacheAgeFlag).Changed {
			return failure.BadUsage("--%s and --%s are about the folder of --%s DIR, which is missing", cacheSizeFlag, cacheAgeFlag, cacheFlag)
		}
		return nil
	}
	switch text := dir.Value.String(); {
	case text == "":
		return failure.BadUsage("--%s needs a folder", cacheFlag)
	case strings.Contains(text, "://"):
		return failure.BadUsage("--%s %s: a cache is a folder of this machine, because it saves requests to stores; give the path of a folder", cacheFlag, phrase.Word(httpstore.Redact(text)))
	}
	c, err := cached.Open(dir.Value.String(), cmp.Or(size.bytes, defaultCache))
	switch {
	case errors.Is(err, cached.ErrNotCache) || errors.Is(err, cached.ErrLimit):
		return failure.BadUsage("--%s %s: %w", cacheFlag, phrase.Word(dir.Value.String()), err)
	case err != nil:
		// A cache is no condition for the work.
		Note(cmd, dir.Value.String(), "the cache is not used: "+err.Error())
		return nil
	}
	c.Warn = func(err error) { Note(cmd, dir.Value.String(), err.Error()) }
	var told sync.Once
	ctx := context.WithValue(cmd.Context(), cacheKey{}, c)
	cmd.SetContext(store.WithWrapping(ctx, func(s store.Store) store.Store {
		// The values of an archive are ranges of the one value of a store, which is
		// wrapped.
		if _, ok := store.Driver(s).(*zipstore.Store); ok {
			return s
		}
		if store.PlaceOf(s) == "" {
			told.Do(func() {
				Note(cmd, dir.Value.String(), "what is read from a URL with a query is not kept, because the query may decide what the values are")
			})
			return s
		}
		return cached.New(s, c, &cached.Options{MaxAge: age.limit})
	}))
	return nil
}

// cacheOf returns the cache of a command, or nil.
func cacheOf(ctx context.Context) *cached.Cache {
	c, _ := ctx.Value(cacheKey{}).(*cached.Cache)
	return c
}

// closeCache closes the cache of a command.
func closeCache(ctx context.Context) {
	if c := cacheOf(ctx); c != nil {
		_ = c.Close() // what it keeps is written
	}
}

// cacheText describes what a cache did, for --stats.
func cacheText(s cached.Stats) string {
	return fmt.Sprintf("cache: %s kept before, %s read from the store with %s",
		phrase.Bytes(s.HitBytes), phrase.Bytes(s.MissBytes), phrase.Plural(s.Misses, "request"))
}
