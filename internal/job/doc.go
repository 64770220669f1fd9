// SPDX-License-Identifier: Apache-2.0

// Package job executes plans whose tasks several processes share: array jobs of a
// scheduler, workers of an engine such as Apache Beam, or goroutines.
//
// A [Plan] is a file that the commands of varve write with --plan. It has stages, one
// after the other, whose tasks come in any order, and a last step that makes the result
// visible. A task may fail, be repeated, be executed twice at once, or be killed:
//
//	plan, err := job.Open(ctx, "s3://bucket/p.json")
//	if err != nil {
//		return err
//	}
//	w, err := job.NewWorker(plan, nil)
//	if err != nil {
//		return err
//	}
//	defer w.Close()
//	for stage := range plan.Stages() {
//		for k := range int64(100) {
//			if _, err := w.Do(ctx, job.Task{Stage: stage, Number: k, Of: 100}); err != nil {
//				return err
//			}
//		}
//	}
//	_, err = w.Publish(ctx)
//
// Instead of a scheduler, workers can divide the tasks among themselves ([Worker.Take]).
//
// # State
//
// There is no coordinator. What is done shows in the store of the result, so tasks that
// are executed again find it. Beside the plan is a folder with a record of each task that
// was done, the claims of [Worker.Take], and what tasks have found that make no new node:
// faults, checksums. [Worker.Forget] deletes it.
package job
