package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// spell writes commands as a test compares them: an open word in <>, one that
// may be there in ?.
func spell(c Command) string {
	var words []string
	for _, w := range c.Words {
		s := w.Text
		if w.Open {
			s = "<" + s + ">"
		}
		if w.Maybe {
			s = "?" + s
		}
		words = append(words, s)
	}
	return strings.Join(words, " ")
}

func shown(s *Script) string {
	lines := make([]string, len(s.Commands))
	for i, c := range s.Commands {
		lines[i] = spell(c)
	}
	return strings.Join(lines, "\n")
}

// TestRead: the commands that bash would run are those that are read, where <...> is known only
// when the script runs and ? may not be there.
func TestRead(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"variables", "A=1; B=\"$A 2\"; run $B \"$B\"", "run 1 2 1 2"},
		{"arrays", "A=(--x 1); A+=(--y \"2 3\"); run \"${A[@]}\" ${#A[@]} ${A[1]}", "run --x 1 --y 2 3 4 1"},
		{"keys", "declare -A T=([1]=2 [7b]=4 [\"x y\"]=\"a b\"); S=7b; T[$S]+=0; T[13]=8; run ${T[1]} ${T[$S]} \"${T[\"x y\"]}\" ${T[13]} ${T[5]:-none} ${#T[@]}", "run 2 40 a b 8 none 4"},
		{"keys with dots", "declare -A T; T[a.b]=1; T[a.c]=2; run ${T[a.b]:-0} \"${T[a.c]}\" ${T[a.d]:-x.y}", "run 1 2 x.y"},
		{"keys that are numbers", "A=([3]=x [1]=y); run ${A[3]} ${A[1]} ${A[1+2]} \"${A[2]}\" z", "run x y x  z"},
		{"keys that nobody knows", "declare -A T; T[$X]=1; T[2]=3; run ${T[2]}; [ -f y ] && U=([a]=1); run ${U[a]}", "run <${T}>\nrun <${U}>"},
		{"list of nobody knows how many", "N=( $(hostnames) ); M=(\"$X\" 5); mapfile -t L < f; run ${#N[@]} ${N[1]} \"${N[@]}\" ${#M[@]} ${M[1]} ${#L[@]}", "run <${#N[@]}> <${N[1]}> <$(hostnames)> 2 5 <${#L[@]}>"},
		{"list that is split", "A=(\"--x 1\" '--y'); run ${A[@]} \"${A[@]}\"", "run --x 1 --y --x 1 --y"},
		{"before the first checkpoint", "S=/c; if [[ -f $S/latest_checkpointed_iteration.txt ]]; then L=\"--load $S\"; else L='--load /w --no-load-optim'; fi; [ ! -e $T/latest_checkpointed_iteration.txt ] && M=--finetune; [ -f $S/x ] && N=1; run $L $M $N", "run --load /w --no-load-optim --finetune <${N}>"},
		{"a launcher that is given a command", "bcprun -p 8 -c 'run a.py \\\n--x 1'", "run a.py --x 1\nbcprun -p 8 -c run a.py \\\n--x 1"},
		{"absent list", "run ${A[@]+\"${A[@]}\"} z", "run z"},
		{"defaults", "run ${X:-5} ${X-6} ${Y:=7} $Y", "run 5 6 7 7"},
		{"unknown", "run $X ${X} \"$1\" $(nproc)", "run <$X> <${X}> <$1> <$(nproc)>"},
		{"arithmetic", "A=4; B=$((A*2+1)); run $((B%4)) $((X+1))", "run 1 <$((X + 1))>"},
		{"more arithmetic", "A=3; run $((2**A)) $((2**70)) $((1<<A)) $((!A)) $((A && 0 || 1))", "run 8 <$((2 ** 70))> 8 0 1"},
		{"arithmetic that sets", "A=2; let A*=2 B=A+1; ((C = B % 4, A += C)); ((B++)); let D=X+1; ((--C)); run $A $B $C $D", "run 5 6 0 <${D}>"},
		{"continued", "run --a 1 \\\n  --b 2", "run --a 1 --b 2"},
		{"text over lines", "O=\"\n --a 1 \\\n --b 2\n\"\nrun $O", "run --a 1 --b 2"},
		{"comment in a line", "A=1 # note \\\nrun --a `# all` \\\n  --b $A `# \"x\"` \\\n  --c", "run --a --b 1 --c"},
		{"here-document in a value", "B=2; O=$(cat <<EOF\n--a 1\n--b $B\nEOF\n)\nrun $O", "run --a 1 --b 2"},
		{"read", "read -r -d '' O <<'EOF'\n--a 1\n--b\nEOF\nread -ra L <<< \"c d\"\nrun $O ${L[1]}", "run --a 1 --b d"},
		{"read of a file", "O=--a; read O < f; L=(--b); mapfile -t L < f; printf -v P %x 1; run $O \"${L[@]}\" $P", "run <${O}> <${L[@]}> <${P}>"},
		{"printf", "A=3; printf -v P '%s-%02d.%d\\n%%' x $A 12; run \"$P\" $(printf '%s,' a b) $(printf '[%s]' $X)", "run x-03.12\n% a,b, <$(printf '[%s]' $X)>"},
		{"mapfile", "mapfile -t O <<EOF\n--a\nb c\nEOF\nrun \"${O[@]}\"", "run --a b c"},
		{"read at commas", "G=0,1,2; IFS=, read -ra L <<< \"$G\"; A=\"x y\"; OLD=$IFS; IFS=$',:'; B=\"a:b,,c\"; run $B \"${L[*]}\"; IFS=$OLD; run ${#L[@]} $A \"${L[*]}\"", "run a b  c 0,1,2\nrun 3 x y 0 1 2"},
		{"counted loop", "A=(); for ((i=0; i<5; i++)); do if ((i < 2)); then A+=(0); else A+=(1); fi; done; printf -v F '[%s]' \"$(IFS=', '; echo \"${A[*]}\")\"; run $F $i", "run [0,0,1,1,1] 5"},
		{"counted loop of commands", "for ((i=0; i<2; i++)); do run $i; done; for ((i=0; i<X; i++)); do A=$i; done; run $A $i", "run <${i}>\nrun <${i}> <${i}>"},
		{"counted loop without end", "for ((i=0; i>=0; i++)); do A=1; done; while true; do B=1; done; run $A ${B:-0}", "run 1 <${B}>"},
		{"while", "i=0; while [ $i -lt 3 ]; do A+=\"$i,\"; i=$((i+1)); done; until ((i == 1)); do ((i--)); done; run $A $i", "run 0,1,2, 1"},
		{"awk", "N=4; run $(awk \"BEGIN {print $N*8}\") $(awk 'BEGIN{print 7/2}') $(awk \"BEGIN { print int(7/2) }\") $(awk \"BEGIN{printf \\\"%d\\n\\\", 3.9*$N}\") $(awk -v n=$N -v k=3e-4 'BEGIN{print k*n/2}') $(awk 'BEGIN{printf(\"%.0f\", (1+2)*2.6)}') $(awk 'BEGIN{print -2^2; exit}') $(awk 'BEGIN{print 1/3}') $(awk 'BEGIN{print 10%4}') $(awk 'BEGIN{print 1e6*1024}') $(awk \"BEGIN{print $X}\") $(awk 'BEGIN{print 1/0}') $(awk 'BEGIN{print 1, 2}') $(awk 'BEGIN{print 1 2}') $(awk 'BEGIN{print y}') $(awk '{print $1}' f) $(awk 'BEGIN{while(1);print 1}') $(awk 'BEGIN{print 9^9^9}') $(awk 'BEGIN{print 1 > \"f\"}') $(awk 'BEGIN{getline x; print x}')", "run 32 3.5 3 15 0.0006 8 -4 0.333333 2 1024000000 <$(awk \"BEGIN{print $X}\")> <$(awk 'BEGIN{print 1/0}')> 1 2 12 <$(awk 'BEGIN{print y}')> <$(awk '{print $1}' f)> <$(awk 'BEGIN{while(1);print 1}')> <$(awk 'BEGIN{print 9^9^9}')> <$(awk 'BEGIN{print 1 > \"f\"}')> <$(awk 'BEGIN{getline x; print x}')>"},
		{"bc", "N=4; run $(echo \"$N*8\" | bc) `echo \"($N + 2) * 3\" | bc` $(echo \"7/2\" | bc) $(echo \"512/(8*$N*2)\" | bc) $(echo \"10^11 / (512*$N)\" | bc) $(echo \"2^3^2\" | bc) $(echo \"2*3^2\" | bc) $(echo \"1-3\" | bc) $(echo \"9^999\" | bc) $(echo \"7/(2-2)\" | bc) $(echo \"2--1\" | bc) $(echo \"010*2\" | bc) $(echo \"1/3\" | bc -l) $(echo \"$X*2\" | bc) $(echo \"1.5*2\" | bc) $(echo 2 | cat)", "run 32 18 3 8 48828125 512 18 -2 <$(echo \"9^999\" | bc)> <$(echo \"7/(2-2)\" | bc)> <$(echo \"2--1\" | bc)> 20 .33333333333333333333 <$(echo \"$X*2\" | bc)> 3.0 <$(echo 2 | cat)>"},
		{"what functions write", "f() { local n=$1; case $n in s) echo --a 1 -b; echo \"--t $X\" ;; m) cat <<E\n--c $n\nE\n;; *) echo no >&2 ;; esac; }; run $(f s) $(f m) \"$(f s)\" $(f $Y) $(f z) end", "run --a 1 -b --t <$X> --c m <--a 1 -b\n--t $X> <$(f $Y)> end"},
		{"what else functions write", "f() { date; echo 1; }; g() { echo 2 | sed s/2/3/; }; h() { if [ $U ]; then echo 4; fi; }; i() { A=5; echo -n 6; }; j() { echo 7; return 0; echo 8; }; run $(f) $(g) $(h) $(i) $(j) $A; N=$(i)", "run <$(f)> <$(g)> <$(h)> <$(i)> 7 <$A>"},
		{"what functions print", "f() { printf -- '--a %d --b %s' $1 $2; }; g() { printf '%s ' \"$@\"; echo end; }; run $(f 4 x) $(f $U y) $(g 1 2)", "run --a 4 --b x <$(f $U y)> 1 2 end"},
		{"what statements write", "Z=1; run $([ $Z = 1 ] && echo --a $Z) $([ $Z = 2 ] && echo --b) $(if [ $Z -gt 0 ]; then echo --c; else echo --d; fi) $([ $U ] && echo --e) $(which x > /dev/null && echo --f) $(A=2; [ $A = 2 ] && echo --g $A || echo --h) $A", "run --a 1 --c <$([ $U ] && echo --e)> <$(which x >/dev/null && echo --f)> --g 2 <$A>"},
		{"list that a branch begins", "if [ $U ]; then A+=(--x \"$V\"); fi; run \"${A[@]}\" z", "run ?--x ?<$V> z"},
		{"list that a branch sets anew", "A=(--x 1); B=(--y 2); C=(--z); if [ $U ]; then A=(--x 3 --w); B=(--v \"${B[@]}\"); C=(); fi; run \"${A[@]}\" \"${B[@]}\" \"${C[@]}\"", "run --x 1 ?--x ?3 ?--w ?--v --y 2 --z"},
		{"files that are read back", "cat > /tmp/o <<E\n--a 1\n--b\nE\ncat > p <<E\n--c $X\nE\necho --d >> q; run $(cat /tmp/o) $(cat p) $(cat q) $(cat r)", "cat\ncat\nrun --a 1 --b <$(cat p)> <$(cat q)> <$(cat r)>"},
		{"cut", "x=a=b; run $(echo $x | cut -d= -f1) $(echo $x | cut -f2 -d '=') $(echo $x | cut -f 3 -d=)! $(echo $x | cut -d, -f1) $(echo $x | cut -c1) $(echo $x | cut -f1,2 -d=) $(echo $Y | cut -d= -f1)", "run a b ! a=b <$(echo $x | cut -c1)> <$(echo $x | cut -f1,2 -d=)> <$(echo $Y | cut -d= -f1)>"},
		{"names that are computed", "k=A; export \"$k\"=\"x y\" \"B=$U\" \"$U=1\"; declare -x \"C=3\"; local=D=4; export $local; run $A $B $C $D; for i in E=5 F=6; do k=$(echo $i | cut -f1 -d=); n=${#k}; v=\"${i:$n+1}\"; export \"$k\"=\"$v\"; done; run $E $F", "run x y <$U> 3 4\nrun 5 6"},
		{"bc of a here-string", "N=4; run $(bc <<< \"$N * 8\") $(bc <<< \"$X*2\") $(bc -l <<< 1/3) $(bc <<< 7/2 2>/dev/null)", "run 32 <$(bc <<<\"$X*2\")> .33333333333333333333 <$(bc <<<7/2 2>/dev/null)>"},
		{"what launchers of MPI tell", "N=${OMPI_COMM_WORLD_SIZE:-1}; run $N ${PMI_RANK:-0} ${OMPI_HOME:-/usr}", "run <${OMPI_COMM_WORLD_SIZE}> <${PMI_RANK}> /usr"},
		{"bc with a scale", "run $(echo \"scale=2; 3/2\" | bc) $(bc <<< \"scale=6; 3.0*10^-4\") $(echo \"2^-1\" | bc) $(echo \"scale=3; -1/8 + 0.0\" | bc) $(echo \"-2^2\" | bc) $(echo \"7.5 % 2\" | bc) $(echo \"n=3; scale=1; (n+2) / 2; n\" | bc) $(echo \"scale=x; 1\" | bc) $(echo \"sqrt(2)\" | bc) $(echo \"1e3\" | bc) $(echo \"1 < 2\" | bc)", "run 1.50 .000300 0 -.125 4 1.5 2.5 3 <$(echo \"scale=x; 1\" | bc)> <$(echo \"sqrt(2)\" | bc)> <$(echo \"1e3\" | bc)> <$(echo \"1 < 2\" | bc)>"},
		{"numbers", "for i in $(seq 0 2 4); do A+=($i); done; run \"${A[@]}\" $(expr 3 \\* 4) $(expr 3 + $X)", "run 0 2 4 12 <$(expr 3 + $X)>"},
		{"loop of assignments", "for e in --a --b; do O+=(\"$e\"); done; for n in 1 2; do run \"${O[@]}\" $n; done", "run --a --b <${n}>"},
		{"xargs", "cat f | xargs run --a", "cat f\nxargs run --a <$(xargs)>"},
		{"another machine", "A=1; ssh -q n \"cd /x && run --a $A \\$B\"", "cd /x\nrun --a 1 <$B>\nssh -q n cd /x && run --a 1 $B"},
		{"script through a pipe", "A=1; cat <<EOF | sbatch -N 2\n#!/bin/bash\nrun --a $A \\$B\nEOF\ncat <<EOF | grep x\nrun 2\nEOF\nflux batch -N 2 <<EOF\nrun 3\nEOF", "cat\nsbatch -N 2\nrun --a 1 <$B>\ncat\ngrep x\nflux batch -N 2\nrun 3"},
		{"let in quotes", "A=512; let \"B = A / 4\" C=A*2 'D=B+1'; let \"E = $X * 2\"; run $B $C $D $E", "run 128 1024 129 <${E}>"},
		{"script in a here-document", "A=1; export B=2; sbatch <<EOF\n#!/bin/bash\nrun --a $A \\$A \\$B\nEOF\ncat > x.sh <<'EOF'\nrun --c $A\nEOF", "sbatch\nrun --a 1 <$A> 2\nrun --c <$A>\ncat"},
		{"known condition", "A=x; if [ \"$A\" = x ]; then B=1; else B=2; fi; run $B", "run 1"},
		{"condition that is a command", "if ! timeout 9 run --a 1 2>&1 | tee l; then A=1; fi; [ -f x ] || if run 2 && [ $U ]; then A=3; elif run 4; then :; fi; until run 5; do sleep 1; done; run $A", "timeout 9 run --a 1\ntee l\nrun 2\nrun 5\nsleep 1\nrun <${A}>"},
		{"unknown condition", "if [ $1 = x ]; then B=1; else B=2; fi; run --b $B", "run --b <${B}>"},
		{"equal branches", "if [ $1 = x ]; then B=1; else B=1; fi; run --b $B", "run --b 1"},
		{"options under a condition", "O=\"--a 1\"; if [ $1 = x ]; then O=\"$O --b 2\"; fi; run $O", "run --a 1 ?--b ?2"},
		{"list under a condition", "O=(--a 1); if [[ -f y ]]; then O+=(--b); fi; run \"${O[@]}\"", "run --a 1 ?--b"},
		{"case", "A=7b; case $A in 1b) N=1;; 7*) N=32;; esac; run $N", "run 32"},
		{"glob with quotes", "A=llama-70b; [[ $A == *\"70b\"* ]] && B=8; [[ $A == 'llama'-* ]] && C=1; [[ $A == \"llama*\" || $A != llama\\* ]] && D=2; run ${B:-1} ${C:-0} $D", "run 8 1 2"},
		{"case of a glob with quotes", "A=7b-x; case $A in \"7b*\") N=1;; \"*\") N=2;; \"7b\"*) N=32;; esac; run $N", "run 32"},
		{"function", "f() { run $1 $#; local a=$2; run $a; }; f 1 2", "run 1 2\nrun 2"},
		{"quotes of a call", "g() { run $#; }; f() { g $1; g \"$1\"; g $@; }; f \"a b\" c; set -- \"d e\"; g $1; g \"$@\"", "run 2\nrun 1\nrun 3\nrun 2\nrun 1"},
		{"eval", "C=\"run --a 1\"; eval $C", "run --a 1"},
		{"eval of what only a run knows", "C=\"run --a $A $1 ${L[@]}\"; A=1; L=(2); f() { eval $C; }; f 3; if [ $U ]; then D=\"a;\"; else D=\"b;\"; fi; D=\"$D run 4\"; eval $D", "run --a <$A> <$1> <${L[@]}>\n<${D}> run 4"},
		{"quotes of what only a run knows, in quotes", "H=$(head -1 f | awk '{print $1}'); C=\"bash -c 'cd /x && run --h $H --a 1'\"; eval $C", "cd /x\nrun --h <$(head -1 f | awk \"{print $1}\")> --a 1\nbash -c cd /x && run --h $(head -1 f | awk \"{print $1}\") --a 1"},
		{"script in a command", "N=2; srun bash -c \"run --n $N \\$SLURM_PROCID\"", "run --n 2 <$SLURM_PROCID>\nsrun bash -c run --n 2 $SLURM_PROCID"},
		{"options under a condition in a command", "O=(--a 1); if [[ -f y ]]; then O+=(--b); fi; bash -c \"run ${O[*]}\"", "run --a 1 ?--b\nbash -c ?run --a 1 --b"},
		{"trimmed", "P=/a/b.sh; run ${P##*/} ${P%.sh} ${P/a/c}", "run b.sh /a/b /c/b.sh"},
		{"trimmed behind what is known", "P=$X/a.b; run \"${P%/*}\" \"${P%.b}\" \"${P%%/*}\"", "run <$X> <$X/a> <${P%%/*}>"},
		{"trimmed up to the last, behind what only a run knows", "P=$X/a.b/c:0.3; run ${P##*/} ${P##*:} ${P##*a.} ${P##*;} \"${P##*$Y}\"; Q=a/$X; run ${Q##*/}", "run c:0.3 0.3 b/c:0.3 <${P##*;}> <${P##*$Y}>\nrun <${Q##*/}>"},
		{"items with what only a run knows", "R=$D/a:1,$D/b:2; IFS=, read -ra L <<< \"$R\"; for i in \"${L[@]}\"; do W+=\"${i##*:} ${i%:*} \"; done; for j in \"$@\" x; do V+=$j; done; for k in $K x; do U+=$k; done; run $W $V $U", "run 1 <$D/a> 2 <$D/b> <${V}x> <${U}x>"},
		{"patterns of text that begins with what is known", "for a in --x=$X -y $Y; do case $a in --x|-x) b=1;; --x=*) x=${a#*=};; -y) y=1;; esac; done; [[ --x=$X == --y* ]] || run $b $x; [[ z$X != [za]* ]] && run; case z$X in @(y)*) run 2;; z*) run 3;; esac", "run <${b}> <${x}>\nrun\nrun 2\nrun 3"},
		{"arguments beside one that only a run knows", "f() { for p in $*; do if [[ $p == --d=* ]]; then d=${p#*=}; elif [[ $p == --e=* ]]; then e=${p#*=}; fi; done; }; e=1; f --d=/x $(hostname) 2; run $d $e; f $H 2 --d=/y --e=$E; run $d $e", "run <${d}> <${e}>\nrun /y <$E>"},
		{"part", "x=abcdef; n=2; A=(a b c d); run ${x:1:n} ${x:3} ${x: -2} ${x:0:-4} \"${x:9}\" ${X:0:2} ${A[@]:1:2} ${A[@]:3}; f() { run \"${@:2}\" ${1:0:1}; }; f yes no may", "run bc def ef ab  <${X:0:2}> b c d\nrun no may y"},
		{"part of what is known in front", "P=ab$X; run ${P:0:2} ${P:1:2} ${P: -1}", "run ab <${P:1:2}> <${P: -1}>"},
		{"replaced", "x=a.b.cb; run ${x/b/X} ${x//[bc]/_} ${x/#a*./Y} ${x/%b/Z} ${x//./} ${x/\"*\"/Q} ${x/?b/}", "run a.X.cb a._.__ Ycb a.b.cZ abcb a.b.cb a.cb"},
		{"indirect", "A_7b=4; S=7b; V=A_$S; B=(x y); run ${!V} ${!V:-9} ${!N} ${!B[@]}", "run 4 4 <${!N}> 0 1"},
		{"paths", "P=/a/b/c.sh; run $(dirname $P) $(basename $P .sh) $(realpath /a/b/) $(dirname \"$X/y\") $(basename $X/y) $(dirname $0) $(realpath c) $(dirname c) $(realpath -eP /a/b)", "run /a/b c /a/b <$X> y <$(dirname $0)> <$(realpath c)> . /a/b"},
		{"command that a condition adds to", "C=\"run a.py --a 1\"; if [ -n \"$W\" ]; then C=\"$C --w 2\"; else D=1; fi; [ -f p ] && C=\"prof -o x $C --p\"; $C; [ -f q ] && C=\"$C b.py\"; $C", "?prof ?-o ?x run a.py --a 1 ?--w ?2 ?--p\n<${C}>"},
		{"and or", "[ -z \"$X\" ] && Y=1; true && Z=2; run ${Y:-0} $Z", "run <${Y}> 2"},
		{"defaults in long", "if [ -z ${A} ]; then A=1; fi; [[ -z \"$B\" ]] && B=2; [ -n \"$C\" ] || export C=3; if [ -z \"$1\" ]; then D=4; else D=$1; fi; if [ -z ${E+x} ]; then E=5; fi; if [ \"$F\" != \"\" ]; then G=$F; else G=6; fi; run $A $B $C $D $E $G", "run 1 2 3 4 5 6"},
		{"defaults of what is set", "A=0; if [ -z $A ]; then A=1; fi; B=$(get); if [ -z \"$B\" ]; then B=2; fi; run $A $B", "run 0 <${B}>"},
		{"options by what nobody sets", "if [ -z $W ]; then O=; else O=\"--w $W --x\"; fi; if [ -n \"$V\" ]; then P=1; fi; run $O $P", "run ?--w ?<$W> ?--x <${P}>"},
		{"blank", "A=<your path> # x\nrun $A", "run <your_path>"},
		{"blank behind an option", "O=\"--save <PATH TO IT> \\\n--image <it> \\\n--bf16\"\nsh -c \"run $O\"", "run --save <PATH_TO_IT> --image <it> --bf16\nsh -c run --save <PATH_TO_IT> --image <it> --bf16"},
		{"redirections behind an option", "run --a <in >out --b < in", "run --a --b"},
		{"blank with what the shell knows", "A=<n (see #3) *> # x\nrun $A", "run <n_(see_#3)_*>"},
		{"bracket of a list", "L=([a,b] --x); run \"${L[@]}\"", "run [a,b] --x"},
		{"= behind quotes in a list", "X=1; L=(\"a\"=$X 'b'=\"c d\" \"e\"= f=g --h=\"i\"); run \"${L[@]}\"", "run a=1 b=c d e= f=g --h=i"},
		{"backslash of a comment", "# why \\\nrun 1 # because \\\nrun 2", "run 1\nrun 2"},
		{"echo", "run $(echo 3)", "run 3"},
	} {
		s, err := Read([]byte(c.script), Call{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := shown(s); got != c.want {
			t.Errorf("%s: %s\n got %q\nwant %q", c.name, c.script, got, c.want)
		}
	}
}

// TestEnds: what stands behind return, exit or exec does not run, and a branch that
// ends has no part in what follows. A script that is imported is one that runs, so
// that it does not fail for want of a variable.
func TestEnds(t *testing.T) {
	for script, want := range map[string]string{
		"f() { if [ $1 = 7b ]; then A=2; return; fi; A=8; }\nf 7b; run $A; f 70b; run $A": "run 2\nrun 8",
		"f() { if [ -f x ]; then A=2; return 0; fi; A=8; }\nA=1; f; run $A":               "run <${A}>",
		"f() { A=8; return 1; A=9; }\nf; run $A":                                          "run 8",
		"run 1\nexit 0\nrun 2":                                                            "run 1",
		"(exit 1); run 1; bash -c 'exit'; run 2":                                          "run 1\nbash -c exit\nrun 2",
		"if [ -f x ]; then A=2; exit 1; fi\nrun ${A:-1}":                                  "run 1",
		"case $X in a) A=1;; *) A=2; exit 1;; esac\nrun $A":                               "run 1",
		"if [ -f x ]; then run 1; exit; else exec run 2; fi\nrun 3":                       "run 1\nexec run 2",
		"if [ -z \"${X:-}\" ]; then echo no X; exit 1; fi\nrun 1":                         "run 1",
		"f() { if [ -z \"${X:-}\" ]; then return 1; fi; run 1; }\nf":                      "run 1",
		"[ -f x ] || exit 1\nrun 1":                                                       "run 1",
		"exec > log; run 1; exec run 2\nrun 3":                                            "exec\nrun 1\nexec run 2",
		"f() { [ -f x ] && exit 1; A=2; return; }\n[ -f y ] && f\nrun ${A:-1}":            "run <${A}>",
		"A=1; (A=2; run $A); run $A; bash -c 'A=3'; run $A":                               "run 2\nrun 1\nbash -c A=3\nrun 1",
	} {
		s, err := Read([]byte(script), Call{})
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(s); got != want {
			t.Errorf("%s\n got %q\nwant %q", script, got, want)
		}
	}
}

// TestLists: of a list whose options became one element, each is a word.
func TestLists(t *testing.T) {
	s, err := Read([]byte("A=(--a 1)\nA+=(\"--b 2\" --c)\nA=(\"${A[*]}\")\n"), Call{})
	if err != nil || len(s.Lists) != 1 {
		t.Fatal(err, s)
	}
	if got, want := spell(s.Lists[0]), "--a 1 --b 2 --c"; got != want || len(s.Lists[0].Words) != 5 {
		t.Errorf("%d words of %q, want %q", len(s.Lists[0].Words), got, want)
	}
}

// TestAmong: of a variable that a condition sets the values are known, unless one of
// them is not.
func TestAmong(t *testing.T) {
	for script, want := range map[string]string{
		"A=1; [[ -f y ]] || A=$B/2; run \"$A\"":                 "[$B/2 1]",
		"if [[ -f y ]]; then A=1; else A=2; fi; run $A":         "[1 2]",
		"if [[ -f y ]]; then A=1; fi; run $A":                   "[]",
		"A=1; [[ -f y ]] || A=2; run $A/x":                      "[]",
		"A=1; [[ -f y ]] || A=2; [[ -f z ]] || A=3; run \"$A\"": "[]",
		"A=1; run $A": "[]",
	} {
		s, err := Read([]byte(script), Call{})
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Clone(s.Commands[0].Words[1].Among)
		slices.Sort(got)
		if fmt.Sprint(got) != want {
			t.Errorf("%s: among %v, want %s", script, got, want)
		}
	}
}

// TestLines: words know the line that they were written on, however they come
// to their command.
func TestLines(t *testing.T) {
	s, err := Read([]byte("#!/bin/bash\nA=\"\n  --a 1\n  --b 2\"\nL=(\n  --c # why\n)\nrun $A \"${L[@]}\" \\\n  --d\neval \"go $A\"\n"), Call{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range append(s.Commands, s.Cut...) {
		for _, w := range c.Words {
			got = append(got, fmt.Sprintf("%s:%d", w.Text, w.Line))
		}
	}
	want := "run:8 --a:3 1:3 --b:4 2:4 --c:6 --d:9 go:10 --a:3 1:3 --b:4 2:4"
	if strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, " "), want)
	}
}

// TestDirectives: directives are those that sbatch reads, up to the first command, and those of a
// script that stands in a here-document; later ones and stray words are told apart.
func TestDirectives(t *testing.T) {
	s, err := Read([]byte("#!/bin/bash\n#SBATCH --nodes=4 # all\n#SBATCH -p long\n#SBATCH -N2\n#SBATCH\t--exclusive\n ##SBATCH --no\n#SBATCHES\n\ncat > ds.json <<EOT\n{\"a\": $A}\nEOT\n#SBATCH -N 8\nsbatch <<EOF\n#SBATCH -t 5\nEOF\n"), Call{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.Directives); got != "[{nodes 4 2 false} {partition long 3 false} {nodes 2 4 false} {exclusive  5 false} {time 5 14 false}]" {
		t.Error(got)
	}
	if got := fmt.Sprint(s.Late); got != "[{nodes 8 12 false}]" {
		t.Error(got)
	}
	if len(s.Documents) != 1 || s.Documents[0].Path.Text != "ds.json" || s.Documents[0].Content != "{\"a\": $A}\n" {
		t.Errorf("%+v", s.Documents)
	}
	s, err = Read([]byte("#!/bin/bash\n#SBATCH <OPTIONS> --nodes=4\n#SBATCH --time = 10\n#SBATCH -N 2 # two\n"), Call{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.Strays); got != "[{<OPTIONS>  2 false} {10  3 false}]" {
		t.Error(got)
	}
}

// TestGlobs: what holding texts against globs takes is counted.
func TestGlobs(t *testing.T) {
	word, glob := strings.Repeat("a", 2000), strings.Repeat("*a", 200)+"b"
	for script, over := range map[string]bool{
		"A=" + word + "\nB=${A##" + glob + "}\n":                                               true,
		"A=" + word + "\nB=${A%" + glob + "}\n":                                                true,
		"A=" + word + "\nG='" + glob + "'\n" + strings.Repeat("case $A in $G) ;; esac\n", 300): true,
		"A=" + word + "\nG='" + glob + "'\n" + strings.Repeat("[[ $A == $G ]] && x\n", 300):    true,
		strings.Repeat("P=/data/tokenizers/llama3/tokenizer.model\nB=${P##*/}\n", 1000):        false,
	} {
		s, err := Read([]byte(script), Call{})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(s.Problems) > 0; got != over {
			t.Errorf("%.30s: %v", script, s.Problems)
		}
	}
}

// TestCopies: what copying and merging variables takes is counted.
func TestCopies(t *testing.T) {
	var variables strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&variables, "V%d=1\n", i)
	}
	for script, over := range map[string]bool{
		variables.String() + strings.Repeat("if [ -f x ]; then A=2; fi\n", 4000):                               true,
		variables.String() + "f() { [ -f x ] && return; A=2; }\n" + strings.Repeat("f\n", 4000):                true,
		variables.String() + strings.Repeat("(A=2)\n", 4000):                                                   true,
		"A=1\nB=2\nf() { [ -f x ] && return; A=2; }\n" + strings.Repeat("f\n(B=3)\n", 500):                     false,
		strings.Repeat("DATA=\"${DATA} 11554765.15 /data/"+strings.Repeat("d", 120)+"_text_document\"\n", 250): false,
	} {
		s, err := Read([]byte(script), Call{})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(s.Problems) > 0; got != over {
			t.Errorf("%.30s…%.40s: %v", script, script[max(0, len(script)-40):], s.Problems)
		}
	}
}

// FuzzRead: no script makes the reader panic or run for ever.
// TestArguments: what the script is called with is known when somebody says it.
func TestArguments(t *testing.T) {
	const script = "N=${1:-4} L=${2-x}\nrun $1 $N $L $#\nif [ $# -gt 2 ]; then shift 2; fi\nrun \"$@\"\n" +
		"while [[ $# -gt 0 ]]; do case $1 in --lr) LR=$2; shift 2;; *) REST=$1; shift;; esac; done\nrun $LR $REST\n"
	for want, arguments := range map[string][]string{
		"run <$1> 4 x <$#>\nrun <$@>\nrun <${LR}> <${REST}>": nil,
		"run 4 x 0\nrun\nrun <$LR> <$REST>":                  {},
		"run 8 8 x 1\nrun 8\nrun <$LR> 8":                    {"8"},
		"run 8 8 y 4\nrun --lr 1\nrun 1 <$REST>":             {"8", "y", "--lr", "1"},
		"run 8 8 y 5\nrun z --lr 1\nrun 1 z":                 {"8", "y", "z", "--lr", "1"},
	} {
		s, err := Read([]byte(script), Call{Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(s); got != want {
			t.Errorf("%q gives\n%s, want\n%s", arguments, got, want)
		}
	}
}

// TestOptionsOfScripts: options of a script's own are followed where its arguments are known.
func TestOptionsOfScripts(t *testing.T) {
	const script = "while getopts \":t:p:vm:\" o; do case $o in t) TP=$OPTARG;; p) PP=${OPTARG};; v) V=1;; m) M=$OPTARG;; *) X=$o;; esac; done\nshift $((OPTIND-1))\nrun ${TP:-2} ${PP:-1} ${V:-0} ${M:-1} ${X:-n} \"$@\"\n"
	for want, arguments := range map[string][]string{
		"run 2 1 0 1 n":     {},
		"run 4 8 1 1 n a b": {"-t", "4", "-vp8", "a", "b"},
		"run 2 1 0 3 ? -t":  {"-z", "-m", "3", "--", "-t"},
		"run <${TP}> <${PP}> <${V}> <${M}> <${X}> <$@>": nil,
	} {
		s, err := Read([]byte(script), Call{Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(s); got != want {
			t.Errorf("%q gives\n%s, want\n%s", arguments, got, want)
		}
	}
}

// TestAllocation: what sbatch tells a script of the job is what the directives ask
// for, and what the command line says before them; without directives nobody
// knows that sbatch starts it.
func TestAllocation(t *testing.T) {
	const run = "run ${SLURM_NNODES:-1} ${SLURM_NTASKS:-1} ${SLURM_GPUS_ON_NODE:-1} ${SLURM_GPUS_PER_NODE:-1} ${SLURM_NTASKS_PER_NODE:-1} ${SLURM_CPUS_PER_TASK:-1} $SLURM_PROCID\n"
	for _, c := range []struct {
		script string
		call   Call
		want   string
	}{
		{run, Call{}, "run 1 1 1 1 1 1 <$SLURM_PROCID>"},
		{run, Call{Nodes: 4}, "run 1 1 1 1 1 1 <$SLURM_PROCID>"},
		{"#SBATCH --nodes=16 --ntasks-per-node=1 --gres=gpu:a100:4\n" + run, Call{}, "run 16 16 4 1 1 1 <$SLURM_PROCID>"},
		{"#SBATCH -N 16\n#SBATCH --gpus-per-node 8 --cpus-per-task=12\n" + run, Call{}, "run 16 1 8 8 1 12 <$SLURM_PROCID>"},
		{"#SBATCH --nodes=16 --ntasks-per-node=8 --gpus-per-node=8\n" + run, Call{Nodes: 2, GPUs: 4}, "run 2 16 4 1 8 1 <$SLURM_PROCID>"},
		{"#SBATCH --nodes=2-4 --ntasks=8\n" + run, Call{}, "run 1 8 1 1 1 1 <$SLURM_PROCID>"},
		{"#SBATCH --nodes=4 --gpus=32 --gpus-per-task=1\n" + run, Call{}, "run 4 32 8 1 1 1 <$SLURM_PROCID>"},
		{"#SBATCH -n 16 --ntasks-per-node=4 --gpus-per-task=h100:2 --gres=nvme:1\n" + run, Call{}, "run 4 16 8 1 4 1 <$SLURM_PROCID>"},
		{"#SBATCH --nodes=2-2 --ntasks=8 --gres=nvme:1,gpu:gh200.2g:4\n" + run, Call{}, "run 2 8 4 1 1 1 <$SLURM_PROCID>"},
		{"#SBATCH --nodes=4\nSLURM_NNODES=2\n" + run, Call{}, "run 2 1 1 1 1 1 <$SLURM_PROCID>"},
	} {
		s, err := Read([]byte(c.script), c.call)
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(s); got != c.want {
			t.Errorf("%q of %+v gives\n%s, want\n%s", c.script, c.call, got, c.want)
		}
		if len(s.Exports) > 0 && c.script != "" && !strings.Contains(c.script, "\nSLURM") {
			t.Errorf("%q exports %v", c.script, s.Exports)
		}
	}
}

// TestPrograms: a script that another one starts sees its arguments and what is
// exported, and changes nothing of the other's.
func TestPrograms(t *testing.T) {
	files := map[string][]byte{"train.sh": []byte("run $1 ${TP:-1} ${PP:-1} ${SLURM_NNODES:-1}\nTP=9\nexport CP=2\n"), "args.sh": []byte("A=\"--x 1\"\n")}
	for script, want := range map[string]string{
		"TP=4 PP=2 bash train.sh a; run ${TP:-0}; bash train.sh a":                    "bash train.sh a\nrun a 4 2 1\nrun 0\nbash train.sh a\nrun a 1 1 1",
		"srun env -u X TP=4 PP=$PP bash train.sh TP=3":                                "srun env -u X TP=4 <PP=$PP> bash train.sh TP=3\nrun TP=3 4 <$PP> 1",
		"f() { bash train.sh $TP; }; TP=4 f; f":                                       "bash train.sh 4\nrun 4 4 1 1\nbash train.sh <$TP>\nrun <$TP> 1 1 1",
		"export TP=4; ID=$(sbatch --parsable -N 2 train.sh a | cut -d. -f1); run $ID": "sbatch --parsable -N 2 train.sh a\nrun a 4 1 2\nrun <$(sbatch --parsable -N 2 train.sh a | cut -d. -f1)>",
		"set -ea; TP=4; set +a; PP=2; bash train.sh a":                                "bash train.sh a\nrun a 4 1 1",
		"set -o pipefail -o allexport; . args.sh; bash train.sh":                      "bash train.sh\nrun 1 1 1",
		"sbatch -N 4 --wait --export=ALL,TP=4,PP=\"$X\" train.sh a":                   "sbatch -N 4 --wait <--export=ALL,TP=4,PP=$X> train.sh a\nrun a 4 <$X> 4",
		"export TP=4; bash train.sh a; exit; bash train.sh b":                         "bash train.sh a\nrun a 4 1 1",
		"export TP=4; PP=2; srun --label bash train.sh a b; run $TP":                  "srun --label bash train.sh a b\nrun a 4 1 1\nrun 4",
		"#SBATCH --nodes=8\nexport TP=4\nexec ./train.sh x":                           "exec ./train.sh x\nrun x 4 1 8",
		"cp train.sh /tmp": "cp train.sh /tmp",
		"srun singularity exec image.sif ./train.sh \"$@\"; . dir/args.sh; go $A": "srun singularity exec image.sif ./train.sh <$@>\nrun <$@> 1 1 1\ngo --x 1",
	} {
		s, err := Read([]byte(script), Call{Files: files, Programs: files})
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(s); got != want {
			t.Errorf("%q gives\n%s, want\n%s", script, got, want)
		}
	}
}

// TestNames: of several files of one name a script reads the one that it names.
func TestNames(t *testing.T) {
	files := map[string][]byte{"m/args.sh": []byte("A=m\n"), "d/args.sh": []byte("A=d\n"), "x/d/args.sh": []byte("A=x\n"), "d/run.sh": []byte("source args.sh; run $A\n")}
	for script, want := range map[string]string{
		"source m/args.sh; go $A; source /home/me/x/d/args.sh; go $A; . $HERE/d/args.sh; go $A": "go m\ngo x\ngo d",
		"bash d/run.sh; source args.sh; go $A":                                                  "bash d/run.sh\nrun d\ngo m",
	} {
		s, err := Read([]byte(script), Call{Name: "m/start.sh", Files: files, Programs: files})
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(s); got != want {
			t.Errorf("%q gives\n%s, want\n%s", script, got, want)
		}
	}
}

// TestApart: options that a script in between gets in one word, to pass them on, are words
// of their own, unless that script was given and says what becomes of them.
func TestApart(t *testing.T) {
	files := map[string][]byte{"given.sh": []byte("python $@\n")}
	for script, want := range map[string]string{
		"A=\" --x 1\n --y \"; mpirun bash entry.sh x.py \"$A $B\" \"--z 2\"": "mpirun bash entry.sh x.py --x 1 --y <$B> --z 2",
		"bash given.sh x.py \"--x 1\"":                                       "bash given.sh x.py --x 1\npython x.py --x 1",
		"python x.py --text \"--x 1 y\"":                                     "python x.py --text --x 1 y",
	} {
		s, err := Read([]byte(script), Call{Programs: files})
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(s); got != want {
			t.Errorf("%q gives\n%s, want\n%s", script, got, want)
		}
		for _, c := range s.Commands {
			for _, w := range c.Words {
				if whole := strings.Contains(w.Text, " "); whole != (strings.HasPrefix(w.Text, "--x 1") && strings.Contains(script, "given") && c.Words[0].Text == "bash") {
					t.Errorf("%q: the word %q", script, w.Text)
				}
			}
		}
	}
	s, err := Read([]byte("D=$(dirname \"$0\")\npython x.py --conf=$D/a.json --y"), Call{})
	if err != nil {
		t.Fatal(err)
	}
	if w := s.Commands[0].Words; len(w) != 4 || w[2].Text != `--conf=$(dirname "$0")/a.json` {
		t.Errorf("what a command prints is taken apart: %v", w)
	}
	s, err = Read([]byte("python x.py '--ramp=0:8 512:16' '--a=1 --b'"), Call{})
	if err != nil {
		t.Fatal(err)
	}
	if w := s.Commands[0].Words; len(w) != 5 || w[2].Text != "--ramp=0:8 512:16" || w[4].Text != "--b" {
		t.Errorf("an option that has its value behind =: %v", w)
	}
}

// FuzzRead: no script takes more words than there are cells for, and none ends the program.
func FuzzRead(f *testing.F) {
	examples, _ := filepath.Glob("../../examples/*/out/*/*/launch.sh")
	for i, path := range examples {
		if b, err := os.ReadFile(path); err == nil && i < 2 {
			f.Add(b)
		}
	}
	for _, s := range []string{"A=(a b); A[3]=x; r ${A[@]}", "f(){ f; f; }; f", "A=aaaa; for i in 1 2; do A=$A$A$A; done; r $A", "eval \"eval $0\"", "r ${x//a/$(b)} $((1/0)) {1..9}", "case $x in a) ;; *) ;; esac", "x() { eval 'x'; }; x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := Read(src, Call{})
		if err != nil {
			return
		}
		size := 0
		for _, c := range s.Commands {
			for _, w := range c.Words {
				size += len(w.Text)
			}
		}
		if size > 4*maxCells {
			t.Errorf("%d bytes of words", size)
		}
	})
}

// TestBegun: a list to which a script appends may have been begun by a file that was not
// given, unless such a file sets up an environment alone.
func TestBegun(t *testing.T) {
	const list, text = "A+=(--x 1); python x.py \"${A[@]}\"", "A+=\" --x 1\"; python x.py $A"
	for script, want := range map[string]string{
		"source common.sh; " + list: "python x.py <${A[@]}> --x 1",
		"source common.sh; " + text: "python x.py <$A> --x 1",
		". $HOME/venv/bin/activate; source /opt/conda/etc/profile.d/conda.sh; source ~/.bashrc; " + list: "python x.py --x 1",
		list:                              "python x.py --x 1",
		"source common.sh; A=(); " + list: "python x.py --x 1",
		"source given.sh; " + list:        "python x.py --y --x 1",
		"if [[ -f $D/given.sh ]]; then source $D/given.sh; fi; " + list:          "python x.py --y --x 1",
		"[ ! -e other.sh ] || A=(--z); [ -s given.sh ] && . ./given.sh; " + list: "python x.py --y --x 1",
	} {
		s, err := Read([]byte(script), Call{Files: map[string][]byte{"given.sh": []byte("A=(--y)\n")}})
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(s); got != want {
			t.Errorf("%q gives\n%s, want\n%s", script, got, want)
		}
	}
}

// TestSourcesStand: a file that was not given is named where the script reads it, not where
// a part of its path comes from.
func TestSourcesStand(t *testing.T) {
	s, err := Read([]byte("D=/opt\n\nsource $D/env.sh\nsource given.sh\n"), Call{Files: map[string][]byte{"given.sh": []byte("\n. ${D}/more.sh\n")}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range s.Sources {
		got = append(got, fmt.Sprintf("%s:%d %s", w.File, w.Line, w.Text))
	}
	if want := ":3 /opt/env.sh, given.sh:2 /opt/more.sh"; strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
}

// TestFunctionsStand: what a function says stands where the function does, wherever it is called.
func TestFunctionsStand(t *testing.T) {
	s, err := Read([]byte("source f.sh\nf\neval \"g; h\"\nh() { run --c; }\nh\nrun $A\n"), Call{Files: map[string][]byte{"f.sh": []byte("\nf() {\n  A='--a'\n}\n\ng() {\n  run --b\n}\nh() {\n  run --d\n}\n")}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range s.Commands {
		for _, w := range c.Words[1:] {
			got = append(got, fmt.Sprintf("%s:%d %s", w.File, w.Line, w.Text))
		}
	}
	if want := "f.sh:7 --b, f.sh:10 --d, :4 --c, f.sh:3 --a"; strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
}

// TestSubmittedDocument: directives of a script that sbatch gets in a here-document, or that is
// written to a file, say what the shell makes of them.
func TestSubmittedDocument(t *testing.T) {
	for begin, want := range map[string]string{
		"sbatch <<EOT":               "nodes=4 time=$T? job-name=a",
		"sbatch <<'EOT'":             "nodes=$N time=$T job-name=a",
		"cat > job.sbatch <<EOT":     "nodes=4 time=$T? job-name=a",
		"cat > \"$D/x.sh\" <<EOT":    "nodes=4 time=$T? job-name=a",
		"tee job.slurm << 'EOT'":     "nodes=$N time=$T job-name=a",
		"cat <<EOT > notes.of/job.y": "nodes=4 time=$T? job-name=a",
	} {
		s, err := Read([]byte("#!/bin/bash\nN=4\n"+begin+"\n#!/bin/bash\n#SBATCH --nodes=$N\n#SBATCH --time=$T --job-name=a\nsrun x\nEOT\n"), Call{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range s.Directives {
			text := d.Name + "=" + d.Value
			if d.Open {
				text += "?"
			}
			got = append(got, text)
		}
		if all := strings.Join(got, " "); all != want {
			t.Errorf("%s: %s, want %s", begin, all, want)
		}
	}
}
