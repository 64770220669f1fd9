// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/internal/archive"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/cached"
	"varve.dev/zarr/store/httpstore"
	"varve.dev/zarr/virtual"
)

// missingFlag is the flag for further statuses of web servers that mean "not found".
const missingFlag = "missing"

// lanFlag is the flag that permits redirections into private networks.
const lanFlag = "private-redirects"

// hedgeFlag is the flag that repeats late requests.
const hedgeFlag = "hedge"

// serverFlag is the flag that bounds the wait for web servers.
const serverFlag = "http-timeout"

// awaitServers sets how long a command waits for web servers, and makes it report that it
// waits. With --json it reports nothing, because programs read standard error as JSON.
func awaitServers(cmd *cobra.Command, opt *httpstore.Options) {
	if stall, given := flagtext.DurationOf(cmd.Flag(serverFlag)); given {
		if opt.Stall = stall; stall == 0 {
			// The library takes 0 for its default.
			opt.Stall, opt.LeastRate = math.MaxInt64, -1
		}
	}
	if WantsJSON(cmd) {
		return
	}
	w := cmd.ErrOrStderr()
	opt.Waiting = func(host string) {
		// A report that cannot be written is no reason to stop waiting.
		_, _ = fmt.Fprintf(w, "varve: waiting for %s, which sends little or nothing; Ctrl-C gives up\n", phrase.Printable(host))
	}
}

// statuses is the value of --missing.
type statuses []int

func (s *statuses) Set(text string) error {
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 400 || n > 499 {
			return fmt.Errorf("%q is not a status from 400 to 499", word)
		}
		if !slices.Contains(*s, n) {
			*s = append(*s, n)
		}
	}
	return nil
}

func (s *statuses) Type() string { return "string" }

// String returns "" for the zero value, on which pflag calls it.
func (s *statuses) String() string {
	words := make([]string, len(*s))
	for i, n := range *s {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

// allowFlag is the flag that permits references of manifests to lead elsewhere.
const allowFlag = "allow"

// remoteArguments adds the options for web servers to the context of a command. It
// returns the arguments without secrets.
func remoteArguments(cmd *cobra.Command, args []string) []string {
	ctx, shown := cmd.Context(), slices.Clone(args)
	for i, arg := range args {
		// The context keeps the credentials for the requests.
		ctx, shown[i] = conceal(ctx, arg)
	}
	if out := cmd.Flag("output"); out != nil {
		var location string
		if ctx, location = conceal(ctx, out.Value.String()); location != out.Value.String() {
			_ = out.Value.Set(location) // it was set before
		}
	}
	var opt httpstore.Options
	opt.PrivateRedirects, _ = cmd.Flags().GetBool(lanFlag)
	opt.Hedge, _ = cmd.Flags().GetBool(hedgeFlag)
	if s, ok := cmd.Flag(missingFlag).Value.(*statuses); ok {
		opt.Missing = *s
	}
	awaitServers(cmd, &opt)
	ctx = httpstore.WithOptions(ctx, &opt)
	if prefixes, _ := cmd.Flags().GetStringArray(allowFlag); len(prefixes) > 0 {
		ctx = virtual.WithAllowed(ctx, prefixes...)
	}
	cmd.SetContext(ctx)
	return shown
}

// conceal is [driver.Conceal] for an argument, which may be NAME=NODE.
func conceal(ctx context.Context, arg string) (context.Context, string) {
	_, location := CutName(arg)
	name := strings.TrimSuffix(arg, location)
	if rest, is := strings.CutPrefix(location, "icechunk+"); is && !strings.Contains(rest, "://") {
		folder, after, divided := strings.Cut(strings.TrimPrefix(rest, "file:"), "@")
		if location = RepositoryLocation(folder); divided {
			location += "@" + after
		}
	}
	ctx, shown := driver.Conceal(ctx, location)
	return ctx, name + shown
}

// RepositoryLocation returns the location of the branch main of the repository of
// Icechunk that a folder of this machine or a URL is.
func RepositoryLocation(repository string) string {
	if scheme, rest, isURL := strings.Cut(repository, "://"); isURL {
		rest, query, hasQuery := strings.Cut(rest, "?")
		rest = strings.ReplaceAll(rest, "@", "%40")
		if hasQuery {
			rest += "?" + query
		}
		return "icechunk+" + scheme + "://" + rest
	}
	if path, err := filepath.Abs(repository); err == nil {
		repository = path
	}
	at := url.URL{Scheme: "icechunk+file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(repository), "/")}
	return strings.ReplaceAll(at.String(), "@", "%40")
}

// CutName cuts an argument NAME=NODE. The name is "" if there is none.
func CutName(arg string) (name, location string) {
	name, location, found := strings.Cut(arg, "=")
	if !found || strings.ContainsAny(name, `/\:?`) {
		return "", arg
	}
	return name, location
}

// The flags of the cache.
const (
	cacheFlag     = "cache"
	cacheSizeFlag = "cache-size"
	cacheAgeFlag  = "cache-age"
)

// defaultCache is the limit of the cache without --cache-size, in bytes.
const defaultCache = 8 << 30

// cacheKey is the context key of the cache.
type cacheKey struct{}

// openCache opens the cache of --cache, and makes the stores that the command opens use
// it.
func openCache(cmd *cobra.Command) error {
	dir := cmd.Flag(cacheFlag)
	size, _ := cmd.Flag(cacheSizeFlag).Value.(*sizeValue)
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
		return failure.BadUsage("--%s %s: a cache is a folder of this machine, because it saves requests to stores; give the path of a folder", cacheFlag, phrase.Word(driver.Redact(text)))
	}
	age, _ := flagtext.DurationOf(cmd.Flag(cacheAgeFlag))
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
		if archive.IsZip(s) {
			return s
		}
		if store.TraitsOf(s).Place == "" {
			told.Do(func() {
				Note(cmd, dir.Value.String(), "what is read from a URL with a query is not kept, because the query may decide what the values are")
			})
			return s
		}
		return cached.New(s, c, &cached.Options{MaxAge: age})
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
