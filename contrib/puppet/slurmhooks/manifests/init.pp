# SPDX-License-Identifier: GPL-2.0-or-later
#
# @summary Installs slurmhooks, and keeps a policy in force on a machine of a Slurm cluster.
#
# The class changes neither slurm.conf nor plugstack.conf: `slurmhooks install` names the lines that they need. It
# restarts nothing: `slurmhooks deploy` lets slurmctld load the policy.
#
# @param bundle
#   The archive that `slurmhooks bundle` has made, as the source of a file. A signature is expected beside it if
#   `allowed_signers` is set.
# @param source
#   In place of a bundle: the folder whose files are to be in force, such as that of slurm.conf, if other classes put them
#   there; let these come before this class. Without both, no policy is deployed.
# @param allowed_signers
#   The lines of slurmhooks.allowed_signers, one for each key that may sign bundles.
# @param packages
#   The packages of slurmhooks; none if something else installs the command.
# @param command
#   The command slurmhooks.
# @param sysconfdir
#   The folder of slurm.conf.
class slurmhooks (
  Optional[String[1]]   $bundle          = undef,
  Optional[Pattern[/\A\/[^']*\z/]] $source = undef,
  Optional[String[1]]   $allowed_signers = undef,
  Array[String[1]]      $packages        = ['slurmhooks', 'slurmhooks-plugins'],
  Pattern[/\A\/[^']*\z/] $command         = '/usr/bin/slurmhooks',
  Pattern[/\A\/[^']*\z/] $sysconfdir      = '/etc/slurm',
) {
  package { $packages:
    ensure => installed,
  }

  File {
    owner => 'root',
    group => 'root',
    mode  => '0644',
  }

  if $allowed_signers {
    file { "${sysconfdir}/slurmhooks.allowed_signers":
      content => $allowed_signers,
    }
  }

  # The second command of `unless` compares the files, the first one what slurmctld has loaded.
  if $source {
    exec { 'slurmhooks deploy':
      command  => "'${command}' deploy --sysconfdir '${sysconfdir}' '${source}'",
      unless   => "'${command}' status --sysconfdir '${sysconfdir}' && '${command}' deploy --dry-run --sysconfdir '${sysconfdir}' '${source}' | grep ': unchanged'",
      path     => ['/usr/bin', '/bin'],
      provider => shell,
      require  => Package[$packages],
    }
  }

  # Nobody but root can write to the folder, so that an archive without a signature is accepted, too.
  $folder = '/var/lib/slurmhooks'

  if $bundle and !$source {
    file { $folder:
      ensure => directory,
      mode   => '0755',
    }

    file { "${folder}/policy.tar":
      source => $bundle,
    }

    if $allowed_signers {
      file { "${folder}/policy.tar.sig":
        source  => "${bundle}.sig",
        require => File["${sysconfdir}/slurmhooks.allowed_signers"],
        before  => Exec['slurmhooks deploy'],
      }
    }

    # It runs whenever another bundle is in force than that of the archive, whose hash is its id: after a refusal once
    # in each run. With a notification of the archive, it would run twice in a run.
    exec { 'slurmhooks deploy':
      command  => "'${command}' deploy --sysconfdir '${sysconfdir}' '${folder}/policy.tar'",
      unless   => "'${command}' status --sysconfdir '${sysconfdir}' --expect $(sha256sum '${folder}/policy.tar' | head -c 16)",
      path     => ['/usr/bin', '/bin'],
      provider => shell,
      require  => [Package[$packages], File["${folder}/policy.tar"]],
    }
  }
}
