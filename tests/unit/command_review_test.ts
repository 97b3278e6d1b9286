/** The review of commands as a table: for each rule what it catches, and what only looks like it. */
import assert from "node:assert/strict";
import { type CommandReview, CommandRule } from "../../schemas/command_review.ts";
import { limits } from "../../schemas/limits.ts";
import { quoted, reviewText } from "../support/reviewing.ts";

function rulesOf({ findings }: CommandReview): readonly string[] {
  return findings.map(({ rule }) => rule);
}

/** What is never run. `hits`: also inside of everything that can hold a command; `near`: not by this rule. */
const blocks: {
  readonly [rule: string]: { readonly hits: readonly string[]; readonly near: readonly string[] };
} = {
  "recursive-delete": {
    hits: [
      "rm -rf /",
      "rm -fr /*",
      "rm -r -f -- /etc",
      "rm --recursive --force /usr/lib",
      "rm --no-preserve-root -Rf /",
      "rm -rf ~",
      'rm -rf "$HOME"',
      "rm -rf ~/",
      "rm -rf ${HOME}/*",
      "rm -rf $NOT_SET/",
      "rm -rf ..",
      "rm -rf /home/ann",
      "rm -rf /home/*",
      "rm -rf ../../../../etc",
      "rm -rf src /var",
      "find / -delete",
      "find /etc -exec rm -rf {} +",
      "find ~ -type f -delete",
      "cd / && rm -rf *",
      "env -C / rm -rf usr",
      "X=rm; Y=/; $X -rf $Y",
      "for x in build /; do rm -rf $x; done",
      "r\\m -rf /",
      "'r''m' \"-rf\" /",
      "$'\\x72\\x6d' -rf /",
      "{rm,-rf,/}",
      "rm${IFS}-rf${IFS}/",
      "/bin/rm -rf /",
      "./rm -rf /",
      "shred -r /etc",
    ],
    near: [
      "rm -rf build",
      "rm -rf ./node_modules/*",
      "rm -rf *",
      "rm /etc/hostname",
      "rm -f /",
      "rm -rf /tmp/build",
      "rm -rf /var/tmp/build",
      "rm -rf /home/ann/build",
      "find / -name core -delete",
      "find . -delete",
      "echo rm -rf /",
      "echo 'rm -rf /'",
      "grep 'rm -rf /' notes",
      "rm -rf $(pwd)/build",
    ],
  },
  "filesystem-format": {
    hits: [
      "mkfs /dev/sdb1",
      "mkfs.ext4 -F image",
      "wipefs -a disk",
      "fdisk disk",
      "cryptsetup luksFormat disk",
      "zpool destroy tank",
    ],
    near: ["mkfs --help", "fdisk -l", "cryptsetup status disk", "zpool status", "cat mkfs.ext4", "parted -l"],
  },
  "block-device-write": {
    hits: [
      "dd if=/dev/zero of=/dev/sda",
      "cat image > /dev/nvme0n1",
      "tee /dev/vda < image",
      "cp image /dev/sdb1",
      "shred /dev/mapper/root",
      "echo x >> /dev/mem",
      "truncate -s 0 /dev/md0",
    ],
    near: [
      "dd if=/dev/sda of=image",
      "cat x > /dev/null",
      "cp /dev/sda image",
      "tee sda",
      "dd if=a of=dev/sda",
      "cat /dev/sda",
    ],
  },
  "shutdown": {
    hits: [
      "shutdown -h now",
      "reboot",
      "poweroff -f",
      "systemctl reboot",
      "init 0",
      "telinit 6",
      "echo b > /proc/sysrq-trigger",
      "systemctl isolate poweroff.target",
    ],
    near: [
      "systemctl status reboot.timer",
      "init 3",
      "shutdown --help",
      "echo reboot",
      "cat shutdown",
      "shutdown -c",
    ],
  },
  "fork-bomb": {
    hits: [":(){ :|:& };:", "bomb() { bomb | bomb & }; bomb", "f() { f & f; }; f", "function f { f & }; f"],
    near: ["f() { g | h; }; f", "f() { f; }; f", "f() { ls & }; f", "f() { echo f | cat; }; f"],
  },
  "kill-all": {
    hits: [
      "kill -9 -1",
      "kill -- -1",
      "kill -s KILL -1",
      "kill -TERM -1",
      "killall5 -9",
      "pkill -9 .",
      "pkill -u ann",
    ],
    near: ["kill -9 123", "kill -1 123", "kill 1", "pkill node", "kill -l", "killall node"],
  },
  "sudo-password": {
    hits: [
      "echo secret | sudo -S ls",
      "sudo -S ls <<< secret",
      "sudo --stdin ls",
      "sudo -kS ls",
      "sudo -A ls",
    ],
    near: ["sudo ls", "sudo -n ls", "sudo -u ann ls -S", "echo sudo -S"],
  },
  "command-unreadable": {
    hits: [
      'echo "${A/$(rm -rf /)/b}"',
      "echo ${A:$(ls):1}",
      "echo ${A//a/`ls`}",
      "let 'a[$(ls)]=1'",
      "declare 'a[$(ls)]=1'",
      "unset 'a[$(ls)]'",
      "read 'a[`ls`]'",
      "test -v 'a[$(ls)]'",
      "[ -v 'a[$(ls)]' ]",
      "printf -v 'a[$(ls)]' x",
      "echo 'a",
      "ls )",
      "if true; then",
      "echo $(ls",
      "for x in",
    ],
    near: ['echo "it\'s"', "echo ')'", "if true; then ls; fi", "echo $(ls)"],
  },
};

/** Places in which a command may hide. */
const holders: { readonly [name: string]: (text: string) => string } = {
  "a shell of its own": (text) => `bash -c ${quoted([text])}`,
  "two shells": (text) => `sh -c ${quoted([`bash -lc ${quoted([text])}`])}`,
  "a substitution": (text) => `echo $(${text}\n)`,
  "a substitution in quotes": (text) => `echo "a $(${text}\n) b"`,
  "a substitution of a default": (text) => `echo "\${UNSET:-$(${text}\n)}"`,
  "a process substitution": (text) => `cat <(${text}\n)`,
  "a condition": (text) => `if true; then ${text}\n fi`,
  "a group after another command": (text) => `ls && { ${text}\n }`,
  "a subshell": (text) => `(${text}\n)`,
  "the other side of or": (text) => `false || (${text}\n)`,
  "a loop": (text) => `while true; do ${text}\n done`,
  "a case": (text) => `case a in a) ${text}\n ;; esac`,
  "a function": (text) => `later() { ${text}\n }; later`,
  "a sum": (text) => `echo $(( $(${text}\n) + 1 ))`,
  "a subscript": (text) => `a[$(${text}\n)]=1`,
  "a list in braces": (text) => `echo {a,$(${text}\n)}`,
  "a test": (text) => `[[ -n $(${text}\n) ]]`,
  "eval": (text) => `eval ${quoted([text])}`,
  "a trap": (text) => `trap ${quoted([text])} EXIT`,
  "an alias": (text) => `alias ls=${quoted([text])}`,
  "what a shell reads": (text) => `echo ${quoted([text])} | sh`,
  "what a shell reads in base64": (text) => `echo ${btoa(text)} | base64 -d | sh`,
  "a here document": (text) => `bash <<'END'\n${text}\nEND`,
  "a here string": (text) => `bash <<< ${quoted([text])}`,
  "env -S": (text) => `env -S ${quoted([`sh -c ${quoted([text])}`])}`,
  "timeout": (text) => `timeout 5 sh -c ${quoted([text])}`,
  "nice and nohup": (text) => `nice -n 5 nohup sh -c ${quoted([text])}`,
  "busybox": (text) => `busybox sh -c ${quoted([text])}`,
  "find": (text) => `find . -exec sh -c ${quoted([text])} ';'`,
  "xargs": (text) => `echo x | xargs sh -c ${quoted([text])}`,
  "letters of another width": (text) =>
    text.replace(/[a-z]/, (one) => String.fromCodePoint(one.charCodeAt(0) + 0xFEE0)),
  "colours of a terminal": (text) => `\u001b[31m${text}\u001b[0m`,
  "characters that nobody sees": (text) => `${text.slice(0, 1)}\u200b${text.slice(1)}`,
};

for (const [rule, { hits, near }] of Object.entries(blocks)) {
  Deno.test(`command review blocks ${rule}, and nothing that only looks like it (DM-91, DM-92)`, async () => {
    assert.ok(hits.length >= 3 && near.length >= 3);
    for (const text of hits) {
      const found = await reviewText(text);
      assert.equal(found.verdict, "block", text);
      assert.equal(found.risk, "critical", text);
      assert.ok(rulesOf(found).includes(rule), `${text}: ${rulesOf(found)}`);
    }
    for (const text of near) assert.ok(!rulesOf(await reviewText(text)).includes(rule), text);
  });
}

for (const [name, hold] of Object.entries(holders)) {
  Deno.test(`command review finds what is hidden in ${name} (DM-91, DM-92, B34)`, async () => {
    for (const text of ["rm -rf /", "mkfs.ext4 disk", "reboot", "kill -9 -1", "dd if=a of=/dev/sda"]) {
      const found = await reviewText(hold(text));
      assert.equal(found.verdict, "block", hold(text));
    }
    assert.notEqual((await reviewText(hold("ls -la"))).verdict, "block", hold("ls -la"));
  });
}

Deno.test("command review looks into 32 shells, and runs nothing that lies deeper (DM-92)", async () => {
  const nest = (text: string, depth: number) => {
    let nested = text;
    for (let level = 0; level < depth; level++) nested = `echo $(${nested})`;
    return nested;
  };
  assert.ok(rulesOf(await reviewText(nest("rm -rf /", limits.commandDepthMax))).includes("recursive-delete"));
  assert.equal((await reviewText(nest("ls", limits.commandDepthMax))).verdict, "prompt");
  const deeper = await reviewText(nest("ls", limits.commandDepthMax + 1));
  assert.deepEqual([deeper.verdict, rulesOf(deeper)[0]], ["block", "command-too-complex"]);
});

/** What a person is asked about. */
const prompts: {
  readonly [rule: string]: { readonly hits: readonly string[]; readonly near: readonly string[] };
} = {
  "command-substitution": {
    hits: ["echo $(ls)", "echo `ls`", 'cat "$(echo a)"', "A=$(pwd) && ls"],
    near: ["echo '$(ls)'", "echo '`ls`'", "echo \\$\\(ls\\)", "ls"],
  },
  "process-substitution": {
    hits: ["diff <(ls) a", "cat <(pwd)", "tee >(cat)"],
    near: ["echo '<(ls)'", "cat < a", "(ls)", "diff a b"],
  },
  "shell-expansion": {
    hits: ["echo $USER", "echo ${A:-b}", "echo $((1 + 1))", "ls ~", "echo {a,b}", "echo $'a'"],
    near: ["echo '$USER'", "echo \\$USER", "ls a~", "echo '{a,b}'", 'echo "~"'],
  },
  "filename-expansion": {
    hits: ["ls *.ts", "cat a?", "ls [ab]", "cat src/*"],
    near: ["ls '*.ts'", "ls \\*", 'find . -name "*.ts"', "ls a"],
  },
  "shell-redirection": {
    hits: ["ls > out", "cat < in", "ls >> out", "ls &> out", "ls >| out", "cat <<< a"],
    near: ["ls 2>&1", "ls > /dev/null", "ls 2> /dev/null", "echo '>'", "ls \\> a"],
  },
  "complex-shell": {
    hits: [
      "ls || pwd",
      "ls &",
      "ls\npwd",
      "cat <<END\na\nEND",
      "for a in b; do ls; done",
      "(ls)",
      "bash -c ls",
      "xargs cat",
    ],
    near: ["ls && pwd", "ls; pwd", "! ls", "echo '||'", "echo '&'", "time ls"],
  },
  "pipeline": {
    hits: ["ls | wc -l", "cat a | sort | uniq", "ls |& cat"],
    near: ["echo '|'", "grep 'a|b' c", "ls && wc -l a"],
  },
  "project-code-execution": {
    hits: [
      "npm test",
      "make",
      "python a.py",
      "./run",
      "scripts/run a",
      "bash run.sh",
      ". ./env",
      "git status",
      "awk 1 a",
      "deno task x",
    ],
    near: ["cat package.json", "ls Makefile", "python --version", "/usr/bin/ls", "which npm", "echo make"],
  },
  "cwd-change": {
    hits: ["cd src", "pushd src", "cd .. && ls", "env -C src ls"],
    near: ["ls src", "echo cd src", "pwd", "env ls"],
  },
  "file-delete": {
    hits: ["rm a", "rmdir a", "unlink a", "find . -name '*.o' -delete", "shred a"],
    near: ["ls rm", "echo rm a", "find . -name rm", "cat a"],
  },
  "file-write": {
    hits: [
      "touch a",
      "cp a b",
      "mkdir a",
      "sed -i s/a/b/ c",
      "sort -o a b",
      "find . -fprint a",
      "uniq a b",
      "tar -xf a",
      "echo a > b",
    ],
    near: ["sed s/a/b/ c", "sort a", "find . -print", "uniq a", "echo touch a", "cat a > /dev/null"],
  },
  "path-outside-workspace": {
    hits: [
      "cat /etc/hosts",
      "ls ..",
      "cat src/../../a",
      "ls /",
      "grep a --file=/etc/hosts b",
      "grep -f/etc/hosts b",
      "cd /tmp && ls a",
    ],
    near: [
      "cat src/../a",
      "ls .",
      "cat /work-place/ws/a",
      "echo /etc/hosts",
      "grep /etc/ a",
      "ls > /dev/null",
      "ls ..a",
    ],
  },
  "sensitive-path": {
    hits: ["cat .env", "head -1 id_rsa", "cat keys/server.pem", "cat .git/config", "cat /proc/self/environ"],
    near: ["cat .env.example", "cat env", "echo .env", "cat public.txt"],
  },
  "unknown-command": {
    hits: ["frobnicate", "sudo ls", "systemctl status", "$(which a) b", "hostname other", "date -s tomorrow"],
    near: ["hostname", "date +%s", "ls frobnicate", "command -v frobnicate"],
  },
  "empty-command": {
    hits: ["", "# nothing", "A=1", "   "],
    near: ["ls # nothing", ":", "A=1 ls"],
  },
  "environment-overlay": {
    hits: ["A=1 ls", "env A=1 ls", "LANG=C sort a"],
    near: ["ls A=1", "env", "A=1; ls", "echo A=1"],
  },
  "network-access": {
    hits: [
      "curl https://example.com",
      "ping example.com",
      "dig a.example.com",
      "nslookup a",
      "ssh host",
      "wget a",
    ],
    near: ["echo curl", "cat curl", "which ssh", "grep ping a"],
  },
};

for (const [rule, { hits, near }] of Object.entries(prompts)) {
  Deno.test(`command review has a person asked about ${rule}, and not about what only looks like it (DM-93)`, async () => {
    assert.ok(hits.length >= 3 && near.length >= 3);
    for (const text of hits) {
      const found = await reviewText(text);
      assert.deepEqual([found.verdict, found.risk], ["prompt", "high"], text);
      assert.ok(rulesOf(found).includes(rule), `${text}: ${rulesOf(found)}`);
    }
    for (const text of near) assert.ok(!rulesOf(await reviewText(text)).includes(rule), text);
  });
}

Deno.test("command review has hits and near misses for every rule but one, which has a test of its own", () => {
  const covered = new Set([...Object.keys(blocks), ...Object.keys(prompts), "command-too-complex"]);
  assert.deepEqual(CommandRule.options.filter((rule) => !covered.has(rule)), []);
});

Deno.test("command review lets commands through that only look at the workspace (DM-91)", async () => {
  const plain = [
    "ls -la src && cat src/a.ts",
    "grep -rn 'needle' src",
    "find . -type f -name '*.ts'",
    "sed -n 1,20p src/a.ts",
    "wc -l src/a.ts; head -5 src/a.ts",
    "rg --files src",
    "diff a b 2>/dev/null",
    "test -f a && echo yes",
    "jq '.name' package.json",
  ];
  for (const text of plain) {
    const { verdict, risk, findings } = await reviewText(text);
    assert.deepEqual([verdict, risk, findings], ["allow", "low", []], text);
  }
});

Deno.test("command review denies texts with too many commands instead of asking about them (B39)", async () => {
  const many = (count: number) => Array.from({ length: count }, (_, place) => `echo ${place}`).join("; ");
  assert.equal((await reviewText(many(limits.commandPartsMax))).verdict, "allow");
  const more = await reviewText(many(limits.commandPartsMax + 1));
  assert.deepEqual([more.verdict, rulesOf(more)], ["block", ["command-too-complex"]]);
  assert.equal((await reviewText(`echo ${"a".repeat(limits.commandTextCharactersMax)}`)).verdict, "block");
});
