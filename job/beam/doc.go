// SPDX-License-Identifier: Apache-2.0

// Package beam executes plans of Varve on Apache Beam: on Prism in this process, on
// Flink, on Dataflow.
//
// [Execute] adds the stages of a plan to a pipeline. Each stage is
//
//	the numbers of the tasks -> Reshuffle -> ParDo(execute a task) -> Sum
//
// and the sum is the input of the next stage, so that it begins when all tasks of the one
// before are done. The last step publishes the result. Only numbers of tasks pass through
// the engine, a few bytes each: workers read chunks from stores, and write them to
// stores.
//
//	p, s := beam.NewPipelineWithRoot()
//	varvebeam.Execute(s, "s3://bucket/p.json", varvebeam.Options{})
//	err := beamx.Run(ctx, p)
//
// The command varve-beam is such a program, and its own worker.
//
// # Failures
//
// An engine executes tasks at least once: after a failure it offers tasks again that
// were done, and the publication too; tasks may also be executed twice at once, by a
// worker that the engine has given up and that still runs. All of that is harmless.
// What is done shows in the store of the result, so a task that is offered again looks
// there, and does nothing. A publication that is repeated finds the result. Package job
// has the details.
//
// Prism does not repeat what has failed, and other engines repeat everything. So a task
// is tried three times within its DoFn. After that the pipeline fails, nothing is
// published, and another pipeline with the same plan resumes there.
package beam
