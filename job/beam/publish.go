// SPDX-License-Identifier: Apache-2.0

package beam

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/internal/job"
)

// publishFn makes the result visible, when all stages are done.
type publishFn struct {
	Spec spec
}

// ProcessElement publishes, and returns the [Summary] as JSON. The engine may call it
// again, also after it has succeeded.
func (f *publishFn) ProcessElement(ctx context.Context, _ int64) (string, error) {
	w, err := f.Spec.join(ctx)
	if err != nil {
		return "", err
	}
	summary, err := f.publish(ctx, w)
	f.Spec.part(w)
	if err != nil {
		f.Spec.leave(ctx)
		return "", err
	}
	f.Spec.dismiss(ctx)
	text, err := json.Marshal(summary)
	return string(text), err
}

func (f *publishFn) publish(ctx context.Context, w *worker) (s *Summary, err error) {
	err = f.Spec.try(ctx, "publishing", func() error {
		if err := fault("publish", job.Task{}); err != nil {
			return err
		}
		r, err := w.Publish(ctx)
		if err != nil {
			return err
		}
		if err := fault("published", job.Task{}); err != nil {
			return err
		}
		s = newSummary(w.Plan(), r)
		return f.Spec.keep(ctx, s)
	})
	return s, err
}

// mostSummary bounds the bytes of a summary that is read.
const mostSummary = 64 << 20

// keep stores a summary, and replaces it by that of an earlier publication if there is
// one.
func (s spec) keep(ctx context.Context, now *Summary) error {
	if s.Result == "" {
		return nil
	}
	was, err := ReadSummary(ctx, s.Result)
	if err == nil && was.ID == now.ID && !now.Changed {
		*now = *was
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNoSummary) {
		return err
	}
	text, err := json.MarshalIndent(now, "", "  ")
	if err != nil {
		return err
	}
	return job.WriteFile(ctx, s.Result, append(text, '\n'))
}

// errNoSummary means that a file is something else.
var errNoSummary = errors.New("no summary of a publication")

// ReadSummary reads the summary that was stored at [Options.Result].
func ReadSummary(ctx context.Context, location string) (*Summary, error) {
	text, err := job.ReadFile(ctx, location, mostSummary)
	if err != nil {
		return nil, err
	}
	s := new(Summary)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", location, errNoSummary, err)
	}
	return s, nil
}
