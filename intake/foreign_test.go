package intake

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/intake/draft"
)

// TestForeign: configurations and launches of programs that ndc does not read are named,
// with what to give instead, also where another file is read.
func TestForeign(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"recipe.py", "from megatron.bridge.recipes.llama import llama3_8b_pretrain_config\n", "a configuration of Megatron-Bridge"},
		{"recipe.py", "import nemo_run as run\nfrom nemo.collections import llm\n", "a configuration of NeMo 2"},
		{"over.yaml", "model:\n  seq_length: 4096\ntrain:\n  train_iters: 20\n", "--dryrun"},
		{"gpt.yaml", "trainer:\n  num_nodes: 4\nmodel:\n  tensor_model_parallel_size: 4\n", "a configuration of NeMo 1"},
		{"sft.yaml", "model_name_or_path: /m\nfinetuning_type: full\ncutoff_len: 2048\n", "a configuration of LLaMA-Factory"},
		{"sft.yaml", "model_name_or_path: /m\nmax_length: 2048\n", "a configuration of TRL"},
		{"chat.yaml", "model_name_or_path: /m\ntemplate: qwen\ninfer_backend: vllm\n", "a configuration of LLaMA-Factory, which exports, serves or evaluates a model: a job is for training a model of language"},
		{"merge.yaml", "model_name_or_path: /m\nfinetuning_type: lora\nexport_dir: o\n", "a configuration of LLaMA-Factory, which exports"},
		{"fft.yml", "base_model: /m\nsequence_len: 8192\n", "a configuration of axolotl"},
		{"gpt.yaml", "trainer:\n  num_nodes: 4\nexp_manager:\n  checkpoint_callback_params:\n    model_parallel_size: 4\n", "a configuration of NeMo 1"},
		{"exp.yaml", "modules:\n  pre_trainer:\n    framework: megatron\n", "a configuration of Primus"},
		{"config.yaml", "parallelism:\n  dp: 2\ntokens:\n  micro_batch_size: 2\n", "a configuration of nanotron"},
		{"mpt.yaml", "max_seq_len: 2048\nglobal_train_batch_size: 256\n", "a configuration of LLM Foundry"},
		{"rlvr.yaml", "actor_train:\n  strategy_args: {}\n", "a configuration of ROLL"},
		{"fsdp.yaml", "distributed_type: FSDP\nnum_processes: 8\n", "configurations for DeepSpeed"},
		{"sft.yaml", "output_dir: o\nper_device_train_batch_size: 1\nfsdp: full_shard auto_wrap\n", "fsdp says that FSDP shards it"},
		{"sft.yaml", "output_dir: o\nper_device_train_batch_size: 1\nfsdp: ''\n", "the configuration of DeepSpeed, or of accelerate for it"},
		{"sft.yaml", "model: a/b\ndist_config:\n  name: fsdp2\ncutoff_len: 2048\n", "TorchTitan is what shards as FSDP does"},
		{"run.sh", "deepspeed src/dpo_train.py --deepspeed ds.json --output_dir o --per_device_train_batch_size 1", "it starts dpo_train.py, which trains on preferences or rewards"},
		{"run.sh", "srun python dpo_training.py --num-layers 32 --hidden-size 4096 --micro-batch-size 4 --train-iters 100 --lr 5e-6 --seq-length 512", "it starts dpo_training.py, which trains on preferences or rewards"},
		{"run.sh", "accelerate launch --use_deepspeed src/rm_train.py --output_dir o --per_device_train_batch_size 1", "it starts rm_train.py, which trains on preferences or rewards"},
		{"run.sh", "accelerate launch --config_file z.yaml examples/hh/ppo_hh.py", "it starts ppo_hh.py, which trains on preferences or rewards"},
		{"run.sh", "deepspeed toolbench/train/train_lora.py --deepspeed ds.json --output_dir o --per_device_train_batch_size 1", "it starts train_lora.py, which trains adapters"},
		{"run.sh", "torchrun --nproc_per_node 8 -m run-instruction-lora-multipack --deepspeed ds.json --output_dir o --per_device_train_batch_size 1", "it starts run-instruction-lora-multipack, which trains adapters"},
		{"run.sh", "deepspeed examples/vis_chatbot.py --deepspeed ds.json", "it starts vis_chatbot.py, which serves a model"},
		{"run.sh", "deepspeed train.py --deepspeed ds.json --output_dir o --mm_tunable_parts mm_mlp_adapter", "the language model is not trained"},
		{"run.sh", "deepspeed train.py --deepspeed ds.json --output_dir o --unfreeze_llm False", "the language model is not trained"},
		{"run.sh", "deepspeed train.py --deepspeed ds.json --output_dir o --tune_language_model False", "the language model is not trained"},
		{"run.sh", "deepspeed train.py --deepspeed ds.json --output_dir o --tune_type_llm frozen", "frozen"},
		{"run.sh", "torchrun train.py --fsdp 'full_shard auto_wrap' --output_dir o --bf16 True", "it starts transformers' Trainer with FSDP"},
		{"run.sh", "composer train/train.py mpt-7b.yaml", "it starts LLM Foundry"},
		{"run.sh", "torchrun --nproc_per_node 8 train.py /data --optimizer adam --adam-eps 1e-9 --lr 1e-3 --min-lr 0 --weight-decay 0 --seed 1 --arch t --adam-betas 0.9 0.997 --clip-norm 0 --lr-scheduler inverse_sqrt --warmup-init-lr 0 --warmup-updates 9 --dropout 0.1 --criterion c --label-smoothing 0.1 --max-epoch 3 --fuse-layer-norm --save-dir o --amp --online-eval", "it starts train.py, whose options say no run that ndc reads"},
		{"run.sh", "P=\" --tensor_model_parallel_size 2 --sequence_parallel --pipeline_model_parallel_size 1 --overlap_grad_reduce\"\nO=\" --do_train --stage=sft --finetuning_type=full --dataset_dir=d --dataset=x --template=q --model_name_or_path=m --output_dir=o --learning_rate=2e-5 --max_steps=9 --bf16\"\ntorchrun --nproc_per_node=8 run_train.py $O $P --use_mca", "it starts run_train.py, whose options say no run that ndc reads"},
		{"run.sh", "python3 -m oneflow.distributed.launch --nproc_per_node 8 tools/train_net.py train.dist.tensor_parallel_size=2 train.global_batch_size=8", "it starts LiBai"},
		{"run.sh", "colossalai run --nproc_per_node 8 --hostfile hosts train.py --plugin zero2 --batch_size 8", "it starts Colossal-AI"},
		{"run.sh", "torchrun train_dist.py scripts/train_dist.yaml runtime.parallel.pp_deg=1 runtime.parallel.global_tp_deg=1", "it starts Galvatron"},
		{"run.sh", "python3 -m torch.distributed.launch --nproc_per_node 8 train_dist.py --hidden_size 4096 --pp_deg 2 --global_tp_deg 4", "it starts Galvatron"},
		{"run.sh", "torchrun --nnodes=1 --nproc_per_node=8 pretrain_cpm_bee.py --model-config b.json --batch-size 8 --train-iters 9 --lr 0.1 --weight-decay 0.01 --clip-grad 1", "it starts CPM-Live"},
		{"train_dist.yaml", "runtime:\n  parallel:\n    pp_deg: 1\n    global_tp_deg: 2\n", "a configuration of Galvatron"},
		{"x.yaml", "a: [\n", "It is no YAML"},
		{"x.yaml", "a: &b 1\nc: *b\n", "It is no YAML that ndc reads: line 2: aliases are not read"},
		{"x.yaml", "some: thing\n", "It is none of"},
		{"eval.yaml", "model:\n  model_parallel_size: 4\n", "It is none of"},
		{"run.sh", "torchrun /opt/scripts/training/run_recipe.py --recipe llama3_8b_pretrain_config model.tensor_model_parallel_size=4", "On line 1 it starts Megatron-Bridge"},
		{"run.sh", "torchrun train.py --model x train.global_batch_size=8", "it starts Megatron-Bridge"},
		{"run.sh", "torchrun --nproc-per-node 8 scripts/performance/run_script.py --model_recipe_name llama3_8b --num_gpus 8 --micro_batch_size 1 --global_batch_size 64 --tensor_model_parallel_size 2 --pipeline_model_parallel_size 4 --context_parallel_size 1", "it starts Megatron-Bridge"},
		{"run.sh", "cat <<- EOM > worker.sh\ncd /opt/Megatron-Bridge\nnumactl nsys profile --sample=none nice python scripts/performance/custom_setup_experiment.py --model_recipe_name llama3_8b --global_batch_size 64 --max_steps 30\nEOM\ntorchrun --nproc-per-node=8 --nnodes=1 --no-python bash worker.sh", "it starts Megatron-Bridge"},
		{"run.sh", "nemo llm pretrain --factory llama3_8b trainer.num_nodes=2 trainer.strategy.tensor_model_parallel_size=4", "it starts NeMo 2"},
		{"run.sh", "torchrun /o/megatron_gpt_pretraining.py trainer.num_nodes=4", "it starts NeMo 1"},
		{"run.sh", "python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 trainer.nnodes=4", "it starts verl"},
		{"run.sh", "llamafactory-cli train lf.yaml", "it starts LLaMA-Factory"},
		{"run.sh", "deepspeed src/train.py --deepspeed ds.json --output_dir o --finetuning_type lora", "finetuning_type lora: ndc plans"},
		{"run.sh", "deepspeed train.py --deepspeed ds.json --output_dir o --bf16 --use_lora", "Read as a script for bash or sbatch it makes no job: line 1: use_lora true: ndc plans"},
		{"run.sh", "deepspeed train.py --lora_enable True --lora_r 8 --deepspeed ds.json --output_dir o", "lora_enable true: ndc plans"},
		{"exp.yaml", "modules:\n  post_trainer:\n    framework: megatron_bridge\n", "a configuration of Primus"},
		{"run.sh", "./primus-cli direct -- train pretrain --config q.yaml --num_layers 94 --micro_batch_size 4 --global_batch_size 8192 --pipeline_model_parallel_size 4 --moe_layer_freq 1 --train_iters 9", "it starts Primus"},
		{"grpo.yaml", "rollout:\n  max_head_offpolicyness: 2\n", "a configuration of AReaL"},
		{"sft.yaml", "actor:\n  backend: fsdp:d8\n  mb_spec:\n    max_tokens_per_mb: 4096\n", "a configuration of AReaL"},
		{"7B_sft.py", "SEQ_LEN = 2048\nparallel = dict(\n    zero1=dict(size=8),\n    tensor=dict(size=1, mode=\"mtp\"),\n)\n", "a configuration of InternEvo"},
		{"run.sh", "torchrun --nnodes=1 --nproc_per_node=8 train.py --config ./configs/7B_sft.py --launcher torch", "it starts InternEvo"},
		{"job.yaml", "command: python train.py\nresources:\n  instance_count: 2\n", "a configuration of Azure Machine Learning"},
		{"exp.yaml", "entrypoint: python3 train.py\nresources:\n  slots_per_trial: 16\n", "a configuration of Determined"},
		{"7B.yaml", "data:\n  instruct_data: d\nmodel_id_or_path: m\nseq_len: 32768\n", "a configuration of mistral-finetune"},
		{"run.sh", "torchrun --nproc-per-node 8 --master_port 29501 -m train example/7B.yaml", "it starts mistral-finetune"},
		{"run.yml", "type: sft\nmicro_batch_size: 1\ndeepspeed:\n  zero_optimization:\n    stage: 3\nmodel:\n  name_or_path: m/l\n", "a configuration of ArcticTraining, which ndc does not read. Give its block deepspeed as JSON"},
		{"run.sh", "/usr/bin/time -v arctic_training run.yml --num_gpus 8", "it starts ArcticTraining"},
		{"config.json", "{\"distributed\": {\"tp_size\": 2, \"pp_engine\": \"1f1b\"}, \"model\": {\"name\": \"a/b\"}, \"training\": {\"seed\": 1, \"learning_rate\": 1e-3, \"total_train_steps\": 10, \"seq_length\": 64, \"micro_batch_size\": 2}}", "a configuration of picotron"},
		{"config.json", "{\"model\": {\"name\": \"a/b\"}, \"training\": {\"seed\": 1, \"learning_rate\": 1e-3, \"epochs\": 10}}", "It is none of"},
		{"sft.yaml", "model: a/b\ntuner_type: full\nmax_length: 2048\nexpert_model_parallel_size: 4\n", "a configuration of ms-swift"},
		{"run.sh", "NPROC_PER_NODE=8 swift sft --model a/b --tuner_type full --per_device_train_batch_size 1 --deepspeed zero2", "it starts ms-swift"},
		{"run.sh", "NPROC_PER_NODE=8 megatron sft conf/sft.yaml", "it starts ms-swift"},
		{"run.sh", "NPROC_PER_NODE=8 python -m swift.cli.sft --model a/b --tuner_type full --deepspeed zero2", "it starts ms-swift"},
		{"run.sh", "torchrun --nproc_per_node 8 /opt/ms-swift/swift/cli/pt.py --model a/b --tuner_type full", "it starts ms-swift"},
		{"run.sh", "python swift/cli/main.py rlhf --model a/b", "it starts ms-swift"},
		{"run.sh", "torchrun --nproc_per_node 8 -m swift.cli._megatron.sft sft.yaml", "it starts ms-swift"},
		{"run.sh", "python -m swift.cli._megatron.export --model a/b", "it starts ms-swift, which exports"},
		{"stage1.yaml", "global_train_batch_size: 1024\nsave_num_unsharded_checkpoints_to_keep: -1\nfsdp:\n  precision: mixed\n", "a configuration of OLMo"},
		{"tiny.yaml", "train:\n  global_batch_size: 512\n  micro_batch_size: 4\n  lr_warmup_steps: 2000\n", "a configuration of LitGPT"},
		{"run.sh", "torchrun --nnodes=2 --nproc_per_node=8 --no_python fast-llm train gpt --config m.yaml", "it starts Fast-LLM"},
		{"mistral.yaml", "training:\n  train_iters: 100\nbatch:\n  sequence_length: 4096\n  batch_size: 64\nmodel:\n  multi_stage:\n    zero_stage: 2\n", "a configuration of Fast-LLM"},
		{"run.sh", "NPROC_PER_NODE=8 xtuner train llama3_8b_full --deepspeed deepspeed_zero2", "it starts XTuner"},
		{"run.sh", "python chatlearn/entrypoint.py grpo --config-file g.yaml runtime_args.exp_name=x", "it starts ChatLearn"},
		{"run.sh", "uv run torchrun --nproc-per-node 8 src/prime_rl/trainer/sft/train.py @ sft.toml", "it starts prime-rl"},
		{"run.sh", "uv run sft @ sft.toml", "it starts prime-rl"},
		{"qwen3.yaml", "model:\n  model_path: a/b\ndata:\n  max_seq_len: 2048\ntrain:\n  accelerator:\n    ulysses_size: 1\n  global_batch_size: 8\n  micro_batch_size: 1\n", "a configuration of VeOmni"},
		{"run.sh", "torchrun --nproc-per-node 8 tasks/omni/train_qwen2_vl.py configs/multimodal/qwen2_vl.yaml --train.micro_batch_size 2", "it starts VeOmni"},
		{"fft.yaml", "model:\n  model_name: a/b\ntraining:\n  trainer_type: TRL_SFT\n  per_device_train_batch_size: 2\n", "a configuration of Oumi"},
		{"run.sh", "oumi distributed torchrun -m oumi train -c fft.yaml", "it starts Oumi"},
		{"task.yaml", "num_nodes: 2\nresources:\n  accelerators: H100:8\nrun: |\n  torchrun --nnodes 2 train.py\n", "a configuration of SkyPilot, which ndc does not read. Give the commands of its run"},
		{"run.sh", "sky jobs launch -c m task.yaml", "it starts SkyPilot"},
		{"hellaswag.yaml", "recipe: TrainFinetuneRecipeForNextTokenPrediction\nstep_scheduler:\n  global_batch_size: 64\n  local_batch_size: 8\n", "a configuration of NeMo AutoModel"},
		{"run.sh", "automodel finetune llm -c hellaswag.yaml", "it starts NeMo AutoModel"},
		{"run.sh", "uv run automodel conf/hellaswag.yaml --nproc-per-node 8", "it starts NeMo AutoModel"},
		{"grpo.yaml", "defaults: base.yaml\npolicy:\n  model_name: a/b\n  train_global_batch_size: 512\n", "a configuration of NeMo RL"},
		{"run.sh", "uv run python examples/run_grpo_math.py --config grpo.yaml cluster.gpus_per_node=8", "it starts NeMo RL"},
		{"run.sh", "oumi train -c fft.yaml", "it starts Oumi"},
		{"run.sh", "litgpt pretrain pythia-160m --train.max_tokens 100", "it starts LitGPT"},
		{"llama.yaml", "trainer:\n  train_batch_size: 1024\n  fsdp_axis: embed\n", "a configuration of Levanter"},
		{"run.sh", "python -m levanter.main.train_lm --config_path c.yaml", "it starts Levanter"},
		{"base.yml", "base_emb_dim: 2048\n", "a configuration of MaxText"},
		{"run.sh", "python3 -m maxtext.trainers.pre_train.train run_name=a", "it starts MaxText"},
		{"llama.yaml", "distributed:\n  fsdp_type: full_shard\n", "a configuration of Lingua"},
		{"run.sh", "torchrun --nproc-per-node 8 -m apps.main.train config=c.yaml", "it starts Lingua"},
		{"job.yaml", "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n", "Give the command of its container as a script"},
	} {
		_, diags := Import([]File{{Name: c.name, Content: []byte(c.content)}}, Options{})
		if len(diags) != 1 || !strings.Contains(diags[0].Detail, c.want) {
			t.Errorf("%s: %q: %v, want %s", c.name, c.content, diags, c.want)
		}
	}
	files := []File{{Name: "sft.yaml", Content: []byte("output_dir: o\nper_device_train_batch_size: 1\n")}, {Name: "fsdp.yaml", Content: []byte("distributed_type: FSDP\nnum_processes: 8\n")}}
	if _, diags := Import(files, Options{}); len(diags) != 1 || !strings.Contains(diags[0].Detail, "another engine than DeepSpeed") {
		t.Errorf("of the Trainer under FSDP: %v", diags)
	}
	const value = "torchrun pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 8 --micro-batch-size 1 --seq-length 64 --wandb-exp-name 'with composer x'"
	if _, diags := Import([]File{{Name: "run.sh", Content: []byte(value)}}, Options{}); diags.HasErrors() {
		t.Errorf("a value is taken for a program: %v", diags)
	}
	const read = "torchrun --nproc_per_node 8 -m swift.cli.sft --tuner_type full --per_device_train_batch_size 1 --deepspeed ds.json --output_dir o"
	r, diags := Import([]File{{Name: "ds.json", Content: []byte(`{"zero_optimization": {"stage": 3}}`)}, {Name: "run.sh", Content: []byte(read)}}, Options{})
	if diags.HasErrors() || slices.ContainsFunc(r.Findings, func(f draft.Finding) bool { return strings.Contains(f.Why, "is not read") }) {
		t.Errorf("options of the Trainer are said not to be read: %v", diags)
	}
	for _, program := range []string{"FORCE_TORCHRUN=1 llamafactory-cli train lf.yaml", "axolotl train ax.yaml --deepspeed ds.json", "swift sft --model a/b --learning_rate 1e-5 --deepspeed zero2"} {
		r, diags := Import([]File{{Name: "ds.json", Content: []byte(`{"zero_optimization": {"stage": 3}}`)}, {Name: "run.sh", Content: []byte(program)}}, Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if last := r.Findings[len(r.Findings)-1]; last.Verdict != draft.Unknown || last.File != "run.sh" || !strings.Contains(last.Why, "is not read") {
			t.Errorf("%s: %+v", program, last)
		}
	}
}

// TestOverrides: what the command line of Megatron-Bridge says counts before the
// configuration that it printed.
func TestOverrides(t *testing.T) {
	log, err := os.ReadFile("megatron/testdata/bridge.log")
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/bash\nTP=4\nsrun torchrun --nnodes 4 --nproc_per_node 8 run_recipe.py --recipe llama3_8b_pretrain_config model.tensor_model_parallel_size=$TP ++train.global_batch_size=512 'dataset.blend=[[/data/x_text_document],null]' train.micro_batch_size=$M model.surprise=7\n"
	r, diags := Import([]File{{Name: "bridge.log", Content: log}, {Name: "run.sh", Content: []byte(strings.Replace(script, "srun torchrun", "torchrun", 1))}}, Options{Cluster: "dgx_h100"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	job := spaces.ReplaceAllString(string(r.Job), " ")
	for _, want := range []string{"tensor_parallel = 4\n", "global_batch_size = 512\n", "path = \"/data/x_text_document\"\n", "nodes = 4\n"} {
		if !strings.Contains(job, want) {
			t.Errorf("no %q in\n%s", want, r.Job)
		}
	}
	if strings.Contains(job, "micro_batch_size") || strings.Contains(job, "mock") {
		t.Errorf("the file counts before the command line in\n%s", r.Job)
	}
	for _, f := range r.Findings {
		if f.Name == "--tensor-model-parallel-size" && (f.File != "run.sh" || f.Line != 3) {
			t.Errorf("%+v", f)
		}
	}
}

// TestIdle: what serves, evaluates or converts a model is no training, whatever options it
// has, and beside a launch that is one it is passed over.
func TestIdle(t *testing.T) {
	const model = " --num-layers 8 --hidden-size 64 --num-attention-heads 8 --micro-batch-size 1 --seq-length 64 --max-position-embeddings 64"
	for command, want := range map[string]string{
		"vllm serve m --tensor-parallel-size 4":                                               "On line 1 it starts vLLM, which serves a model",
		"python -m sglang.launch_server --model-path m --tp 8":                                "SGLang, which serves a model",
		"torchrun tasks/main.py --task MNLI --epochs 3" + model:                               "On line 1 it starts main.py, which fine-tunes a classifier",
		"torchrun ./tasks/msdp/main.py --task MSDP-EVAL-F1" + model:                           "which fine-tunes a classifier or evaluates",
		"torchrun tasks/ARC/eval_for_arc.py --math_datapath a" + model:                        "eval_for_arc.py, which evaluates a model",
		"python tools/merge_mp_partitions.py --model-type BERT" + model:                       "merge_mp_partitions.py, which converts checkpoints",
		"torchrun tools/split_tp_partitions.py --process-checkpoint" + model:                  "split_tp_partitions.py, which converts checkpoints",
		"python ../analyze_data.py --analyzing-task map" + model:                              "On line 1 it starts analyze_data.py, which counts",
		"trtllm-serve m --tp_size 8":                                                          "TensorRT-LLM, which serves a model",
		"torchrun tools/run_text_generation_server.py" + model:                                "run_text_generation_server.py, which generates text",
		"torchrun examples/inference/gpt/gpt_dynamic_inference.py" + model:                    "gpt_dynamic_inference.py, which generates text",
		"torchrun examples/inference/quantization/text_generation_ptq.py" + model:             "text_generation_ptq.py, which generates text",
		"deepspeed scripts/deepspeed_to_hf_llama.py --no-pipeline-parallel" + model:           "deepspeed_to_hf_llama.py, which converts checkpoints",
		"python tools/convert_checkpoint/deepspeed_to_megatron.py" + model:                    "deepspeed_to_megatron.py, which converts checkpoints",
		"python hf2mcore_qwen2.py" + model:                                                    "hf2mcore_qwen2.py, which converts checkpoints",
		"megatron export --model m --tensor_model_parallel_size 2 --load a --save b --bf16 x": "ms-swift, which exports",
		"A=\"" + model + "\"; deepspeed tasks/eval_harness/evaluate.py --load c $A":           "evaluate.py, which evaluates a model",
		"accelerate launch lm_evaluate_megatron_qwen.py" + model:                              "lm_evaluate_megatron_qwen.py, which evaluates a model",
		"lm_eval --model hf":                "lm_eval, which evaluates a model",
		"lm_eval -m hf":                     "lm_eval, which evaluates a model",
		"accelerate launch -m lm_eval":      "starts lm_eval, which evaluates a model",
		"torchrun --no-python lm_eval":      "starts lm_eval, which evaluates a model",
		"srun python -m lm_eval --model hf": "On line 1 it starts lm_eval, which evaluates a model",
		"python -m examples.inference.gpt.gpt_dynamic_inference" + model: "gpt_dynamic_inference, which generates text",
		"torchrun examples/inference/offline_inference.py" + model:       "offline_inference.py, which generates text",
		"torchrun modelopt/quantize.py --export-quant-cfg fp8" + model:   "quantize.py, which quantises, exports",
		"torchrun modelopt/mmlu.py" + model:                              "mmlu.py, which evaluates",
		"torchrun tools/retro/preprocess_data.py" + model:                "preprocess_data.py, which prepares data",
	} {
		_, diags := Import([]File{{Name: "run.sh", Content: []byte(command + "\n")}}, Options{})
		if len(diags) != 1 || !strings.Contains(diags[0].Detail, want) {
			t.Errorf("%s: %v, want %s", command, diags, want)
		}
		r, diags := Import([]File{{Name: "run.sh", Content: []byte(command + "\ntorchrun --nproc-per-node 4 pretrain_gpt.py" + model + "\n")}}, Options{})
		if diags.HasErrors() {
			t.Fatalf("%s: %v", command, diags)
		}
		if !strings.Contains(string(r.Job), "gpus_per_node = 4") || slices.ContainsFunc(r.Findings, func(f draft.Finding) bool { return f.Line == 1 && f.Verdict == draft.Unknown }) {
			t.Errorf("%s beside a launch: %+v\n%s", command, r.Findings, r.Job)
		}
	}
	for _, option := range []string{"--spec tools/convert.py spec", "--tool evaluate.py"} { // an option of what trains
		if r, diags := Import([]File{{Name: "run.sh", Content: []byte("torchrun --nproc-per-node 4 pretrain_gpt.py" + model + " " + option + "\n")}}, Options{}); diags.HasErrors() || !strings.Contains(string(r.Job), "gpus_per_node = 4") {
			t.Errorf("%s: %v", option, diags)
		}
	}
}

// TestOtherModels: a classifier that the Trainer trains is no job, also beside the configuration
// of DeepSpeed that it is started with, unless a model of language is trained, too.
func TestOtherModels(t *testing.T) {
	const classifier = "deepspeed --num_gpus 2 examples/run_glue.py --deepspeed ds.json --task_name mrpc --output_dir o --learning_rate 2e-5\n"
	config := File{Name: "ds.json", Content: []byte(`{"zero_optimization": {"stage": 2}, "train_batch_size": "auto"}`)}
	_, diags := Import([]File{{Name: "run.sh", Content: []byte(classifier)}, config}, Options{})
	if len(diags) != 1 || !strings.Contains(diags[0].Detail, "line 1: it starts run_glue.py, which trains another model") {
		t.Errorf("%v", diags)
	}
	const model = "deepspeed --num_gpus 4 run_clm.py --deepspeed ds.json --output_dir o --learning_rate 1e-4\n"
	r, diags := Import([]File{{Name: "run.sh", Content: []byte(classifier + model)}, config}, Options{})
	if diags.HasErrors() || !strings.Contains(string(r.Job), "gpus_per_node = 4") {
		t.Errorf("beside a model of language: %v", diags)
	}
}
