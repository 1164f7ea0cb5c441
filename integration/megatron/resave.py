"""What a launch has loaded, saved again at once in the layout that loaded it, before any step."""
import megatron.training.training as training
from megatron.training import get_args
from megatron.training.checkpointing import save_checkpoint


def resave(folder):
    """Saves into a folder what the next load_checkpoint brings."""
    load = training.load_checkpoint

    def loaded(model, optimizer, scheduler, *rest, **options):
        answer, args = load(model, optimizer, scheduler, *rest, **options), get_args()
        step, operations = answer[:2]
        if step:
            kept, args.save = args.save, folder
            save_checkpoint(step, model, optimizer, scheduler, operations, {})
            args.save = kept
        return answer

    training.load_checkpoint = loaded
